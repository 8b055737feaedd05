-- Reads a job's progress at one moment.
-- KEYS  meta, done, counts, work
-- Answers chunks, bitmap, the number of chunks at work and the counters of each, then
-- name and value of each counter of the job; empty where one of the first three keys is
-- not there.
local chunks = redis.call("HGET", KEYS[1], "chunks")
local done = redis.call("GET", KEYS[2])
local counts = redis.call("HGETALL", KEYS[3])
if not chunks or not done or #counts == 0 then
  return {}
end
local work = redis.call("HVALS", KEYS[4])
local answer = {chunks, done, tostring(#work)}
for _, v in ipairs(work) do
  answer[#answer + 1] = v
end
for _, v in ipairs(counts) do
  answer[#answer + 1] = v
end
return answer
