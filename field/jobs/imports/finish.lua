-- finish.lua: record the end of a task, clear the slot and let the group go, if
-- the claim is still the caller's.
-- KEYS[1] the claims, a hash {group: "slot worker token end"}
-- KEYS[2] the slots, a hash {slot: task}
-- KEYS[3] the log
-- ARGV[1] the group
-- ARGV[2] the slot, the caller's name and its fencing token, as in the claim
-- ARGV[3] the slot
-- ARGV[4] the task's number
-- ARGV[5] the caller's name
-- ARGV[6] the channel of the workers
-- Returns 1 when the task has ended, 0 when somebody else has the group.
local claim = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local about = ' ' .. ARGV[4] .. ' ' .. ARGV[1] .. ' ' .. ARGV[5]
if string.sub(claim, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  redis.call('RPUSH', KEYS[3], 'refused' .. about)
  return 0
end
redis.call('RPUSH', KEYS[3], 'end' .. about)
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[3])
redis.call('PUBLISH', ARGV[6], 'finish')
return 1
