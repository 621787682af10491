-- release.lua: leave one level of the lock if it is still the caller's. A
-- caller that leaves the outermost one leaves the queue as well.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their arrival
-- KEYS[3] the turn: the owner id that was first when the lock became free, for
-- a short time; and the channel on which all processes are told of it. Each has
-- one of its own as well, with ':' and the process's name behind
-- KEYS[4] the waiters, a hash {owner: until when it counts as alive, in
-- milliseconds of the server's clock, how long its turn is kept, and its
-- process's name}
-- KEYS[5] the counter of the fencing tokens
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] the owner id that waits first in the caller's process, or nothing
-- ARGV[5] how many fencing tokens were reserved and not used
-- Returns 1 when left, 2 when the owner in ARGV[4] has the turn now and has not
-- been told, 0 when the lock is free or somebody else's. Where a waiter of
-- another process has the turn, and ARGV[4] names an owner, returns minus the
-- turn's milliseconds: that owner is to ask when the turn is over. A key of
-- another type is not the caller's either: pcall returns its error in place of
-- a number.

-- The first waiter that has asked within two of its leases gets the turn; any
-- other has died. One that waits in the caller's process is told there. If
-- somebody waits there, it is enough to tell the process of another one.
local function pass(neighbor)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local first = redis.call('ZPOPMIN', KEYS[2])[1]
  while first do
    local waiter = redis.call('HGET', KEYS[4], first) or '0 0'
    local alive, turn, process = string.match(waiter, '(%d+) (%d+) ?(.*)')
    redis.call('HDEL', KEYS[4], first)
    if tonumber(alive) > now then
      redis.call('SET', KEYS[3], first, 'PX', turn)
      if first == neighbor then
        return 2
      end
      local told = neighbor ~= '' and KEYS[3] .. ':' .. process or KEYS[3]
      -- A user without the channel is refused, and gives the turn.
      redis.pcall('PUBLISH', told, first)
      return neighbor ~= '' and -turn or 1
    end
    first = redis.call('ZPOPMIN', KEYS[2])[1]
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
  -- A counter that was removed meanwhile has nothing to take back.
  if ARGV[5] ~= '0' and
    tonumber(redis.call('GET', KEYS[5]) or 0) > tonumber(ARGV[5]) then
    redis.call('DECRBY', KEYS[5], ARGV[5])
  end
  return pass(ARGV[4]) or 1
end
-- The caller gives up waiting, perhaps when its turn has come.
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
local turn = redis.call('GET', KEYS[3])
if turn == ARGV[1] then
  redis.call('DEL', KEYS[3])
  pass('')
elseif turn then
  redis.pcall('PUBLISH', KEYS[3], turn) -- perhaps only the caller knew of it
elseif redis.call('EXISTS', KEYS[1]) == 0 then
  pass('') -- and it may just be over
end
return 0
