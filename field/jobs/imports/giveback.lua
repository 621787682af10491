-- giveback.lua: put a task that was not done back to where it came from, as the
-- oldest, and let the group go, if the claim is still the caller's.
-- KEYS[1] the claims, a hash {group: "slot worker token end"}
-- KEYS[2] the slots, a hash {slot: task}
-- KEYS[3] the log
-- KEYS[4] the queue
-- ARGV[1] the group
-- ARGV[2] the slot, the caller's name and its fencing token, as in the claim
-- ARGV[3] the slot
-- ARGV[4] the task's number
-- ARGV[5] the caller's name
-- ARGV[6] the channel of the workers
-- ARGV[7] the task
-- Returns 1 when the task is in the queue, 0 when somebody else has the group.
redis.call('RPUSH', KEYS[3], 'fail ' .. ARGV[4] .. ' ' .. ARGV[1] .. ' '
  .. ARGV[5])
local claim = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if string.sub(claim, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  return 0
end
redis.call('RPUSH', KEYS[4], ARGV[7])
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[3])
redis.call('PUBLISH', ARGV[6], 'fail')
return 1
