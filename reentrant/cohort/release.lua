-- release.lua: leave one level of the lock if it is still the caller's. Who
-- leaves the outermost one leaves the queue as well.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their coming. A
-- score is a place in millions, and the milliseconds that a turn is kept
-- KEYS[3] the turn: the owner id that was next at a release, for a short time,
-- and the channel on which it is told
-- KEYS[4] the counter of the fencing tokens
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] how many fencing tokens were reserved and not used
-- Returns 1 when left, 0 when the lock is free or somebody else's.
-- A key of another type, which pcall does not raise, is somebody else's.
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
if mine and ARGV[3] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('ZREM', KEYS[2], ARGV[1])
local turn = redis.call('GET', KEYS[3]) == ARGV[1]
if mine then
  redis.call('DEL', KEYS[1])
  if ARGV[4] ~= '0' then
    redis.call('DECRBY', KEYS[4], ARGV[4])
  end
elseif not turn then
  return 0
end
redis.call('DEL', KEYS[3])
local next = redis.call('ZPOPMIN', KEYS[2])
if next[1] then
  redis.call('SET', KEYS[3], next[1], 'PX', next[2] % 1000000)
  -- A user without the channel is refused. The lock is released all the same.
  redis.pcall('PUBLISH', KEYS[3], next[1])
end
return mine and 1 or 0
