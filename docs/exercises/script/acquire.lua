-- acquire.lua: take the lock and its lease.
-- KEYS[1] the lock
-- ARGV[1] the value
-- ARGV[2] the lease in milliseconds
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  return 0
end
