-- release.lua: leave one level of the lock if it is still the caller's. A
-- caller that leaves the outermost one leaves the queue as well.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their arrival
-- KEYS[3] the turn: the owner id that the free lock is kept for, for a short
-- time; and the channel on which all processes are told of it
-- KEYS[4] the waiters, a hash {owner: until when it counts as alive, in
-- milliseconds of the server's clock, and how long its turn is kept}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] and all behind it are other owner ids that give up waiting
-- Returns 1 when left, 0 when the lock is free or somebody else's. A key of
-- another type is not the caller's either: pcall returns its error in place of
-- a number.

-- The first waiter that has asked within two of its leases gets the turn. Any
-- other has died. So that no call keeps the server, one of a thousand gets the
-- turn unseen: when it is over, somebody asks again.
local function pass()
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
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
      return
    end
  end
end

if ARGV[3] ~= '0' then
  if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
    return 0
  end
  -- A full server refuses a script that begins with HSET, and not with PEXPIRE.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  return 1
end
if redis.pcall('HDEL', KEYS[1], ARGV[1]) == 1 then -- the lock's only field
  pass()
  return 1
end
-- The caller gives up waiting, perhaps when its turn has come.
local leave = {ARGV[1], unpack(ARGV, 4)}
redis.call('ZREM', KEYS[2], unpack(leave))
redis.call('HDEL', KEYS[4], unpack(leave))
local turn = redis.call('GET', KEYS[3])
for _, id in ipairs(leave) do
  if id == turn then
    redis.call('DEL', KEYS[3])
    pass()
    break
  end
end
return 0
