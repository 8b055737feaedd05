-- Counts a chunk, once.
-- KEYS  meta, done, counts, work
-- ARGV  index of the chunk, then name and delta of each counter
-- Answers 0 lost, 1 first, 2 again, -1 no such chunk.
local chunks = tonumber(redis.call("HGET", KEYS[1], "chunks") or nil)
if not chunks then
  return 0
end
-- A key that was evicted or expired on its own must not be begun anew: the
-- counters would be wrong for good.
if redis.call("EXISTS", KEYS[3]) == 0 or redis.call("STRLEN", KEYS[2]) ~= math.ceil(chunks / 8) then
  return 0
end
if tonumber(ARGV[1]) >= chunks then
  return -1
end
-- The first write is one that a full Redis refuses: it takes all of it or nothing.
local before = redis.call("SETBIT", KEYS[2], ARGV[1], 1)
redis.call("HDEL", KEYS[4], ARGV[1])
if before == 1 then
  return 2
end
for i = 2, #ARGV, 2 do
  redis.call("HINCRBY", KEYS[3], ARGV[i], ARGV[i + 1])
end
return 1
