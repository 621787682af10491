-- acquire.lua: take a free lock with its lease, and number the grant.
-- KEYS[1] the lock
-- KEYS[2] the counter of its fencing tokens, which ends with the lease
-- ARGV[1] the caller's token
-- ARGV[2] the lease in milliseconds
-- Returns the fencing token when granted, 0 when somebody holds the lock.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
-- The counter comes before the lock: should it fail, nothing is locked.
local fence = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return fence
