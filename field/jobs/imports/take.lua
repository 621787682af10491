-- take.lua: claim a group and move a task of it to the caller's slot, in one step.
-- A task in the slot of a claim that has run out is moved before any task of the
-- queue. So is one in the caller's own slot: its predecessor is gone.
-- KEYS[1] the queue
-- KEYS[2] the claims, a hash {group: "slot worker token end"}
-- KEYS[3] the slots, a hash {slot: task}
-- KEYS[4] the highest fencing token that was seen
-- ARGV[1] the task that was chosen, "" when it stands in a slot
-- ARGV[2] its group
-- ARGV[3] the caller's slot
-- ARGV[4] the caller's name
-- ARGV[5] the fencing token of the queue lock, 0 when it has none
-- ARGV[6] the lease of the claim in milliseconds
-- Returns {"taken", task}, {"orphan", task}, or who was quicker: {"stale"} for a
-- caller whose token is not the newest, {"held"} when the group has a claim,
-- {"gone"} when the task is not in the queue any more. {"full"} when the caller's
-- slot holds another task, which must not be overwritten.
local token = tonumber(ARGV[5])
if token > 0 then
  if token < tonumber(redis.call('GET', KEYS[4]) or 0) then
    return {'stale'}
  end
  redis.call('SET', KEYS[4], ARGV[5])
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local mine = ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5] .. ' '
  .. string.format('%.0f', now + ARGV[6])
local claim = redis.call('HGET', KEYS[2], ARGV[2])
if claim then
  local slot, ends = string.match(claim, '^(%S+) %S+ %S+ (%d+)$')
  if tonumber(ends) > now and slot ~= ARGV[3] then
    return {'held'}
  end
  if slot ~= ARGV[3] and redis.call('HEXISTS', KEYS[3], ARGV[3]) == 1 then
    return {'full'}
  end
  local task = redis.call('HGET', KEYS[3], slot)
  redis.call('HDEL', KEYS[3], slot)
  redis.call('HSET', KEYS[3], ARGV[3], task)
  redis.call('HSET', KEYS[2], ARGV[2], mine)
  return {'orphan', task}
end
if redis.call('HEXISTS', KEYS[3], ARGV[3]) == 1 then
  return {'full'}
end
if redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then
  return {'gone'}
end
redis.call('HSET', KEYS[3], ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[2], mine)
return {'taken', ARGV[1]}
