-- release.lua: delete the lock if it is still the caller's.
-- KEYS[1] the lock
-- ARGV[1] the caller's token
-- Returns 1 when deleted, 0 when the lock is free or somebody else's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
