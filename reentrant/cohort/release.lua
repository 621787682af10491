-- release.lua: leave one level of the lock if it is still the caller's. Who
-- leaves the outermost one leaves the queue as well.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their coming
-- KEYS[3] the turn: the owner id that was next at a release, for a short time,
-- and the channel on which it is told
-- KEYS[4] the counter of the fencing tokens
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] how long a turn is kept, in milliseconds
-- ARGV[5] how many fencing tokens were reserved and not used
-- Returns 1 when left, 0 when the lock is free or somebody else's.
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1])
if mine == 1 and ARGV[3] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('ZREM', KEYS[2], ARGV[1])
local turn = redis.call('GET', KEYS[3]) == ARGV[1]
if mine == 1 then
  redis.call('DEL', KEYS[1])
  if ARGV[5] ~= '0' then
    redis.call('DECRBY', KEYS[4], ARGV[5])
  end
elseif not turn then
  return 0
end
redis.call('DEL', KEYS[3])
local next = redis.call('ZPOPMIN', KEYS[2])[1]
if next then
  redis.call('SET', KEYS[3], next, 'PX', ARGV[4])
  redis.call('PUBLISH', KEYS[3], next)
end
return mine
