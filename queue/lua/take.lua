-- Takes a share of a job's limits.
-- KEYS  limits (hash: up, down, requests: a second; next-up, next-down, next-requests: seconds;
--       since: microseconds, when they were set)
-- ARGV  bytes up, bytes down, requests
-- Answers the microseconds to wait before it is used, and since; both 0 without limits. Each limit is
-- a queue of what was taken before: next-* is when the next one is free.
local time = redis.call("TIME")
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local wait = 0
for i, name in ipairs({"up", "down", "requests"}) do
  local rate = tonumber(redis.call("HGET", KEYS[1], name) or 0)
  local amount = tonumber(ARGV[i])
  if rate > 0 and amount > 0 then
    local at = math.max(now, tonumber(redis.call("HGET", KEYS[1], "next-" .. name) or 0))
    wait = math.max(wait, at - now)
    redis.call("HSET", KEYS[1], "next-" .. name, string.format("%.6f", at + amount / rate))
  end
end
return {math.floor(wait * 1000000), tonumber(redis.call("HGET", KEYS[1], "since") or 0)}
