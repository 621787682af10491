-- renew.lua: extend the lease if the lock is still the caller's.
-- KEYS[1] the lock
-- ARGV[1] the caller's token
-- ARGV[2] the lease in milliseconds
-- Returns 1 when extended, 0 when the lock is free or somebody else's. It never
-- creates the lock.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
