-- mine.lua: look whether the lock is still the caller's.
-- KEYS[1] the lock
-- ARGV[1] the caller's token
-- Returns 1 when it is, 0 when the lock is free or somebody else's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
return 0
