-- release.lua: delete the lock if it is still the caller's, and say so.
-- KEYS[1] the lock
-- KEYS[2] the channel of its releases
-- ARGV[1] the caller's token
-- Returns 1 when deleted, 0 when the lock is free or somebody else's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PUBLISH', KEYS[2], 'released')
return redis.call('DEL', KEYS[1])
