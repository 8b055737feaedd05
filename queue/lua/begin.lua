-- Puts objects of a chunk in flight.
-- KEYS  flight hash of the chunk, set of chunks with one
-- ARGV  chunk, seconds to remember, then objects
redis.call("SADD", KEYS[2], ARGV[1])
for i = 3, #ARGV do
  redis.call("HINCRBY", KEYS[1], ARGV[i], 1)
end
redis.call("EXPIRE", KEYS[1], ARGV[2])
return 1
