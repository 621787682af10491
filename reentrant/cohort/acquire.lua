-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their coming
-- KEYS[3] the turn: the owner id that was next at a release, for a short time,
-- and the channel on which it is told
-- KEYS[4] the counter of the fencing tokens, which is never removed
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] the owner id that the caller's process gives up, or nothing
-- ARGV[5] 1 to wait in the queue when refused
-- ARGV[6] how long a turn is kept, in milliseconds
-- ARGV[7] how many fencing tokens to reserve
-- Returns the first of the fencing tokens when granted, or 1 when none is
-- wanted. When refused, returns after how long the caller may ask again: minus
-- the milliseconds, or 0.
local owner = redis.call('HKEYS', KEYS[1])[1]
if owner and owner == ARGV[4] then
  redis.call('DEL', KEYS[1])
  owner = nil
  local next = redis.call('ZPOPMIN', KEYS[2])[1]
  if next then
    redis.call('SET', KEYS[3], next, 'PX', ARGV[6])
    redis.call('PUBLISH', KEYS[3], next)
  end
end
local turn = redis.call('GET', KEYS[3])
local first = not turn or turn == ARGV[1]
if owner ~= ARGV[1] and (owner or not first or ARGV[3] ~= '1') then
  local lease = tonumber(ARGV[2])
  local left = redis.call('PTTL', owner and KEYS[1] or KEYS[3])
  if left < 0 then
    left = lease -- no lease: ask again after one of one's own
  end
  if ARGV[5] == '1' then
    local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0
    redis.call('ZADD', KEYS[2], 'NX', last + 1, ARGV[1])
    redis.call('PEXPIRE', KEYS[2], 2 * math.max(lease, left))
  end
  return -left
end
if turn then
  redis.call('DEL', KEYS[3])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[7] == '0' then
  return 1
end
return redis.call('INCRBY', KEYS[4], ARGV[7]) - ARGV[7] + 1
