-- renew.lua: extend the lease of a claim if it is still the caller's.
-- KEYS[1] the claims, a hash {group: "slot worker token end"}
-- ARGV[1] the group
-- ARGV[2] the slot, the caller's name and its fencing token, as in the claim
-- ARGV[3] the lease in milliseconds
-- Returns 1 when extended, 0 when somebody else has the group. It never makes a
-- claim.
local claim = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if string.sub(claim, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  return 0
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' '
  .. string.format('%.0f', now + ARGV[3]))
return 1
