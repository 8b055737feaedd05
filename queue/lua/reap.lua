-- Puts the tasks of dead workers back and removes what is broken, in one queue.
-- KEYS  active, lease, pending, seen (hash: task to "score since"), retry
-- ARGV  prefix of task hashes, grace, steady, silent; seconds, see reap.go
-- Answers {expired, without lease, without hash, stray leases, due again}.
local grace, steady, silent = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = tonumber(redis.call("TIME")[1])
local expired, unleased, broken, stray = 0, 0, 0, 0
local active, keep = {}, {}

for _, id in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
  local key = ARGV[1] .. id
  active[id] = true
  if redis.call("HEXISTS", key, "msg") == 0 then
    redis.call("LREM", KEYS[1], 0, id)
    redis.call("ZREM", KEYS[2], id)
    redis.call("DEL", key)
    broken = broken + 1
  else
    local dead = false
    local score = redis.call("ZSCORE", KEYS[2], id)
    if not score then
      dead = true
      unleased = unleased + 1
    else
      local since = now
      local seen = redis.call("HGET", KEYS[4], id)
      if seen then
        local before, at = string.match(seen, "^(%S+) (%d+)$")
        if before == score then
          since = tonumber(at)
        end
      end
      local still = now - since
      if (tonumber(score) + grace < now and still >= steady) or still >= silent then
        dead = true
        expired = expired + 1
      else
        keep[#keep + 1] = id
        keep[#keep + 1] = score .. " " .. string.format("%d", since)
      end
    end
    if dead then
      redis.call("LREM", KEYS[1], 0, id)
      redis.call("ZREM", KEYS[2], id)
      redis.call("RPUSH", KEYS[3], id)
      redis.call("HSET", key, "state", "pending", "pending_since", string.format("%d000000000", now))
    end
  end
end

for _, id in ipairs(redis.call("ZRANGE", KEYS[2], 0, -1)) do
  if not active[id] then
    redis.call("ZREM", KEYS[2], id)
    stray = stray + 1
  end
end

local due = redis.call("ZRANGEBYSCORE", KEYS[5], "-inf", now, "LIMIT", 0, 1000)
for _, id in ipairs(due) do
  redis.call("ZREM", KEYS[5], id)
  redis.call("LPUSH", KEYS[3], id)
  redis.call("HSET", ARGV[1] .. id, "state", "pending", "pending_since", string.format("%d000000000", now))
end

redis.call("DEL", KEYS[4])
for i = 1, #keep, 2 do
  -- A full Redis may refuse; what was repaired above stays repaired.
  redis.pcall("HSET", KEYS[4], keep[i], keep[i + 1])
end
redis.call("EXPIRE", KEYS[4], 3600)
return {expired, unleased, broken, stray, #due}
