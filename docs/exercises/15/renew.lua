-- renew.lua: extend the caller's own lease, if the lock is still the caller's.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a set of owners with one lease
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- Returns 1 when extended, 0 when neither lock is the caller's. It never
-- creates one. A key of another type is not the caller's either: pcall returns
-- its error in place of a number.
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if redis.pcall('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return 0
