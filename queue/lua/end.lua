-- Takes objects of a chunk out of flight.
-- KEYS  flight hash of the chunk, set of chunks with one
-- ARGV  chunk, then objects
for i = 2, #ARGV do
  redis.call("HDEL", KEYS[1], ARGV[i])
end
if redis.call("EXISTS", KEYS[1]) == 0 then
  redis.call("SREM", KEYS[2], ARGV[1])
end
return 1
