-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their coming. A
-- score is a place in millions, and the milliseconds that a turn is kept
-- KEYS[3] the turn: the owner id that was next at a release, for a short time,
-- and the channel on which it is told
-- KEYS[4] the counter of the fencing tokens, which is never removed
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] the owner id that the caller's process gives up, or nothing
-- ARGV[5] 1 to wait in the queue when refused, and not inside already
-- ARGV[6] how long to keep the turn for the caller, in milliseconds
-- ARGV[7] how many fencing tokens to reserve
-- Returns the first of the fencing tokens when granted, or 1 when none is
-- wanted. When refused, returns after how long the caller may ask again: minus
-- the milliseconds, or 0.
local million = 1000000
local owner = redis.call('HKEYS', KEYS[1])[1]
if owner and owner == ARGV[4] then
  redis.call('DEL', KEYS[1])
  owner = nil
  local next = redis.call('ZPOPMIN', KEYS[2])
  if next[1] then
    redis.call('SET', KEYS[3], next[1], 'PX', next[2] % million)
    -- A user without the channel is refused. The lock is released all the same.
    redis.pcall('PUBLISH', KEYS[3], next[1])
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
  if ARGV[5] == '1' and ARGV[3] == '1' then
    local score = redis.call('ZSCORE', KEYS[2], ARGV[1])
    if not score then -- a place behind the last
      local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
      score = (last or 0) + million
    end
    local place = score - score % million
    redis.call('ZADD', KEYS[2], place + ARGV[6], ARGV[1])
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
