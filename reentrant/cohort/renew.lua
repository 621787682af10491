-- renew.lua: extend the lease if the lock is still the caller's.
-- KEYS[1] the lock, a hash {owner: count}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- Returns 1 when extended, 0 when the lock is free or somebody else's. It never
-- creates the lock. A key of another type is not the caller's either: pcall
-- returns its error in place of a number.
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
