-- Removes tasks that are not active.
-- KEYS  pending, scheduled, retry, archived, completed
-- ARGV  prefix of task hashes, the one state to remove or "", then task ids
-- Answers how many were removed. Uses no command that a full Redis refuses.
local places = {scheduled = KEYS[2], retry = KEYS[3], archived = KEYS[4], completed = KEYS[5]}
local removed = 0
for i = 3, #ARGV do
  local id = ARGV[i]
  local key = ARGV[1] .. id
  local state = redis.call("HGET", key, "state")
  if state and state ~= "active" and (ARGV[2] == "" or ARGV[2] == state) then
    if state == "pending" then
      -- From the end at which tasks leave: the oldest are found at once.
      redis.call("LREM", KEYS[1], -1, id)
    elseif places[state] then
      redis.call("ZREM", places[state], id)
    end
    redis.call("DEL", key)
    removed = removed + 1
  end
end
return removed
