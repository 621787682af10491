-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their arrival
-- KEYS[3] the turn: the owner id that the free lock is kept for, for a short
-- time; and the channel on which all processes are told of it
-- KEYS[4] the waiters, a hash {owner: until when it counts as alive, in
-- milliseconds of the server's clock, and how long its turn is kept}
-- KEYS[5] the counter of the fencing tokens, which is never removed
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] 1 to wait in the queue when refused, and not inside already
-- ARGV[5] how long to keep the turn for the caller, in milliseconds
-- ARGV[6] the owner id that this process gives up, or nothing
-- ARGV[7] how many fencing tokens to reserve
-- Returns the first of the fencing tokens when granted, or 1 when none is
-- wanted. When refused, returns what remains of the holder's lease, or of the
-- turn: minus the milliseconds, or 0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The first waiter that has asked within two of its leases gets the turn. Any
-- other has died. So that no call keeps the server, one of a thousand gets the
-- turn unseen: when it is over, somebody asks again.
local function pass()
  for n = 1, 1000 do
    local id = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
    if not id then
      return
    end
    local alive, turn = string.match(redis.call('HGET', KEYS[4], id) or '0 1',
      '(%d+) (%d+)')
    redis.call('ZREM', KEYS[2], id)
    redis.call('HDEL', KEYS[4], id)
    if tonumber(alive) > now or n == 1000 then
      redis.call('SET', KEYS[3], id, 'PX', turn)
      -- A user without the channel is refused, and gives the turn.
      redis.pcall('PUBLISH', KEYS[3], id .. ' ' .. turn)
      return id
    end
  end
end

local given = ARGV[6] ~= '' and redis.call('HDEL', KEYS[1], ARGV[6]) == 1
local free = given or redis.call('EXISTS', KEYS[1]) == 0
local mine = not free and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local turn = free and (redis.call('GET', KEYS[3]) or pass())
if mine or free and (not turn or turn == ARGV[1]) and ARGV[3] == '1' then
  if turn then
    redis.call('DEL', KEYS[3])
  end
  -- A full server refuses a script that begins with HSET, and not with PEXPIRE.
  if mine then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  local tokens = tonumber(ARGV[7])
  return tokens == 0 and 1 or redis.call('INCRBY', KEYS[5], tokens) - tokens + 1
end
local lease = tonumber(ARGV[2])
if ARGV[4] == '1' and ARGV[3] == '1' then
  local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0
  local came = redis.call('ZADD', KEYS[2], 'NX', last + 1, ARGV[1]) == 1
  redis.call('HSET', KEYS[4], ARGV[1],
    string.format('%.0f %s', now + 2 * lease, ARGV[5]))
  if redis.call('PTTL', KEYS[2]) < 2 * lease then
    redis.call('PEXPIRE', KEYS[2], 2 * lease)
    redis.call('PEXPIRE', KEYS[4], 2 * lease)
  end
  if turn and not came then -- the message may have been lost
    redis.pcall('PUBLISH', KEYS[3],
      turn .. ' ' .. redis.call('PTTL', KEYS[3]))
  end
end
local left = redis.call('PTTL', turn and KEYS[3] or KEYS[1])
if left < 0 or left > lease then
  left = lease -- ask once a lease, so as not to be called dead
end
return -left
