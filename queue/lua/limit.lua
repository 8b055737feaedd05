-- Sets a job's limits. What was taken of others is forgotten; where they are the same
-- nothing changes.
-- KEYS  limits (see take)
-- ARGV  up, down, requests; 0 is no limit
local same = true
for i, name in ipairs({"up", "down", "requests"}) do
  if tonumber(redis.call("HGET", KEYS[1], name) or 0) ~= tonumber(ARGV[i]) then
    same = false
  end
end
if same then
  return 0
end
redis.call("DEL", KEYS[1])
if tonumber(ARGV[1]) > 0 or tonumber(ARGV[2]) > 0 or tonumber(ARGV[3]) > 0 then
  local time = redis.call("TIME")
  local since = string.format("%.0f", tonumber(time[1]) * 1000000 + tonumber(time[2]))
  redis.call("HSET", KEYS[1], "up", ARGV[1], "down", ARGV[2], "requests", ARGV[3], "since", since)
end
return 1
