-- release.lua: leave one level of the lock if it is still the caller's.
-- KEYS[1] the lock, a hash {owner: count}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] the channel that waiters listen on
-- Returns 1 when left, 0 when the lock is free or somebody else's. A key of
-- another type is not the caller's either: pcall returns its error in place of
-- a number.
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
  return 0
end
if ARGV[3] == '0' then
  -- DEL comes first: a user who may not publish gets an error, but the lock
  -- is free.
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[4], 'released')
  return 1
end
-- A full server refuses a script that begins with HSET, and not with PEXPIRE.
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
