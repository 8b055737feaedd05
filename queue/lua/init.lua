-- Replaces what is known of a job's progress.
-- KEYS  meta, done, counts, work
-- ARGV  chunks, bitmap, then name and value of each counter
redis.call("DEL", KEYS[1], KEYS[2], KEYS[3], KEYS[4])
redis.call("SET", KEYS[2], ARGV[2])
for i = 3, #ARGV, 2 do
  redis.call("HSET", KEYS[3], ARGV[i], ARGV[i + 1])
end
redis.call("HSET", KEYS[1], "chunks", ARGV[1])
return 1
