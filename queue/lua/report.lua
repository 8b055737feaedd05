-- Notes how far chunks at work are.
-- KEYS  meta, done, counts, work
-- ARGV  chunk and its counters, of each chunk
-- Answers 0 where the job is lost. Chunks that are counted already are left out.
if redis.call("EXISTS", KEYS[1]) == 0 then
  return 0
end
for i = 1, #ARGV, 2 do
  if redis.call("GETBIT", KEYS[2], ARGV[i]) == 0 then
    redis.call("HSET", KEYS[4], ARGV[i], ARGV[i + 1])
  end
end
return 1
