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
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have, 0 to free the lock
-- ARGV[4] the owner id that waits first in the caller's process, or nothing
-- ARGV[5] that one's lease in milliseconds
-- ARGV[6] and all behind it are owner ids that give up waiting, and the
-- caller's is among them
-- Returns 1 when left, 2 when the owner in ARGV[4] has the lock now, 0 when the
-- lock is free or somebody else's. Where a waiter of another process has the
-- turn, and ARGV[4] names an owner, returns minus the turn's milliseconds: that
-- owner is to ask when the turn is over. A key of another type is not the
-- caller's either: pcall returns its error in place of a number.

local time
local function now()
  time = time or redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The first waiter that has asked within two of its leases, or waits in the
-- caller's process, which is alive; any other has died, and is removed. Behind
-- a dead one, a thousand are looked at, so that no call keeps the server.
-- Returns '' when all those were dead, and others wait.
local function first(neighbor)
  for _, most in ipairs({1, 1000}) do
    local ids = redis.call('ZRANGE', KEYS[2], 0, most - 1)
    if not ids[1] then
      return
    end
    local waiters = redis.call('HMGET', KEYS[4], unpack(ids))
    for i = 1, #ids do
      local alive, turn, process = string.match(waiters[i] or '0 0',
        '(%d+) (%d+) ?(.*)')
      local lives = ids[i] == neighbor or tonumber(alive) > now()
      if lives or i == #ids then
        redis.call('ZREMRANGEBYRANK', KEYS[2], 0, i - 1)
        redis.call('HDEL', KEYS[4], unpack(ids, 1, i))
      end
      if lives then
        return ids[i], turn, process
      end
    end
  end
  return redis.call('EXISTS', KEYS[2]) == 1 and '' or nil
end

-- The first waiter gets the lock if it waits in the caller's process: it hears
-- of that with the caller's reply. One of another process gets the turn. If
-- somebody waits in the caller's process, it is enough to tell the process of
-- the one that has the turn. If so many are dead that nobody has it, that one
-- asks at once, or one of each process.
local function pass(neighbor)
  local id, turn, process = first(neighbor)
  if turn and id == neighbor then
    redis.call('HSET', KEYS[1], id, 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
    return 2
  end
  local told, message = KEYS[3], id
  if turn then
    redis.call('SET', KEYS[3], id, 'PX', turn)
    told = neighbor ~= '' and KEYS[3] .. ':' .. process or KEYS[3]
    message = id .. ' ' .. process
  end
  if turn or id and neighbor == '' then
    -- A user without the channel is refused, and gives the turn.
    redis.pcall('PUBLISH', told, message)
  end
  return id and neighbor ~= '' and -(turn or 1) or 1
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
local leave = {ARGV[1], unpack(ARGV, 6)}
local held = redis.pcall('HDEL', KEYS[1], unpack(leave)) == 1 -- its only field
if ARGV[6] or not held then -- they give up waiting
  redis.call('ZREM', KEYS[2], unpack(leave))
  redis.call('HDEL', KEYS[4], unpack(leave))
end
if held then
  return pass(ARGV[4])
end
local turn = redis.call('GET', KEYS[3])
local theirs = false -- perhaps the turn of one has come
for _, id in ipairs(leave) do
  theirs = theirs or id == turn
end
if theirs then
  redis.call('DEL', KEYS[3])
  pass('')
elseif turn then
  redis.pcall('PUBLISH', KEYS[3], turn) -- perhaps only the caller knew of it
elseif redis.call('EXISTS', KEYS[1]) == 0 then
  pass('') -- and it may just be over
end
return 0
