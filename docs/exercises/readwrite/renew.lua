-- renew.lua: extend the caller's own lease, if the lock is still the caller's.
-- Of a caller that has released the write lock and reads on, see to it that the
-- release has happened.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a set of owners with one lease
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] 1 when the caller has released the write lock
-- ARGV[4] the channel that waiters listen on
-- Returns 1 when extended, 0 when neither lock is the caller's: then it creates
-- none. A key of another type is not the caller's either: pcall returns its
-- error in place of a number.
local writer = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
if writer and ARGV[3] == '0' then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if not writer and redis.pcall('SISMEMBER', KEYS[2], ARGV[1]) ~= 1 then
  return 0
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
if writer then
  redis.call('DEL', KEYS[1])
  redis.pcall('PUBLISH', ARGV[4], 'all') -- as in read.lua
end
return 1
