-- Takes or renews a lock.
-- KEYS  lock, fence
-- ARGV  holder, ttl in milliseconds
-- Answers the fencing number, 0 where somebody else holds the lock.
-- The number outlives the lock by a week, so that locks of jobs that ended do not gather.
local week = 604800000
local holder = redis.call("GET", KEYS[1])
if holder == ARGV[1] then
  local fence = redis.call("GET", KEYS[2])
  if fence then
    redis.call("PEXPIRE", KEYS[1], ARGV[2])
    redis.call("PEXPIRE", KEYS[2], math.max(week, tonumber(ARGV[2])))
    return tonumber(fence)
  end
elseif holder then
  return 0
end
-- At least the clock in microseconds, so that it rises even when Redis forgot;
-- exact in a double until the year 2255.
local time = redis.call("TIME")
local fence = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(redis.call("GET", KEYS[2]) or 0)
if fence <= last then
  fence = last + 1
end
redis.call("SET", KEYS[2], string.format("%.0f", fence), "PX", string.format("%.0f", math.max(week, tonumber(ARGV[2]))))
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return fence
