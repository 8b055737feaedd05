-- Finds a task and removes its hash where nothing refers to it any more.
-- KEYS  task hash, pending, active, scheduled, retry, archived, completed
-- ARGV  task id
-- Answers its state, "" where there is no such task (any more).
local state = redis.call("HGET", KEYS[1], "state")
if not state then
  redis.call("DEL", KEYS[1])
  return ""
end
for i = 4, 7 do
  if redis.call("ZSCORE", KEYS[i], ARGV[1]) then
    return state
  end
end
for i = 3, 2, -1 do
  for _, id in ipairs(redis.call("LRANGE", KEYS[i], 0, -1)) do
    if id == ARGV[1] then
      return state
    end
  end
end
redis.call("DEL", KEYS[1])
return ""
