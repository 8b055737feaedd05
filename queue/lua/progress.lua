-- Reads a job's progress at one moment.
-- KEYS  meta, done, counts
-- Answers chunks, bitmap, name and value of each counter; empty where one of
-- the keys is not there.
local chunks = redis.call("HGET", KEYS[1], "chunks")
local done = redis.call("GET", KEYS[2])
local counts = redis.call("HGETALL", KEYS[3])
if not chunks or not done or #counts == 0 then
  return {}
end
local answer = {chunks, done}
for _, v in ipairs(counts) do
  answer[#answer + 1] = v
end
return answer
