-- acquire.lua: take a free lock together with its lease.
-- KEYS[1] the lock
-- ARGV[1] its value
-- ARGV[2] the lease in milliseconds
-- Returns 1 when granted, 0 when somebody holds the lock.
if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
