-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the queue: the owner ids that wait, in the order of their arrival
-- KEYS[3] the turn: the owner id that was first when the lock became free, for
-- a short time; and the channel on which all processes are told of it. Each has
-- one of its own as well, with ':' and the process's name behind
-- KEYS[4] the waiters, a hash {owner: until when it counts as alive, in
-- milliseconds of the server's clock, how long its turn is kept, and its
-- process's name}
-- KEYS[5] the counter of the fencing tokens, which is never removed
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] 1 to wait in the queue when refused, and not inside already
-- ARGV[5] how long to keep the turn for the caller, in milliseconds
-- ARGV[6] the name of the caller's process
-- ARGV[7] an owner id whose turn nobody will come for, or nothing
-- ARGV[8] the owner id that this process gives up, or nothing
-- ARGV[9] how many fencing tokens to reserve
-- ARGV[10] and all behind it are owner ids that wait behind the caller
-- Returns the first of the fencing tokens when granted, or 1 when none is
-- wanted. When refused, returns after how long the caller must
-- ask again: minus the milliseconds, or 0.
local time
local function now()
  time = time or redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The first waiter that has asked within two of its leases; any other has died,
-- and is removed. Behind a dead one, a thousand are looked at, so that no call
-- keeps the server. Returns '' when all those were dead, and others wait.
local function first()
  for _, most in ipairs({1, 1000}) do
    local ids = redis.call('ZRANGE', KEYS[2], 0, most - 1)
    if not ids[1] then
      return
    end
    local waiters = redis.call('HMGET', KEYS[4], unpack(ids))
    for i = 1, #ids do
      local alive, turn, process = string.match(waiters[i] or '0 0',
        '(%d+) (%d+) ?(.*)')
      local lives = tonumber(alive) > now()
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

-- The first waiter gets the turn. Somebody must ask when that turn is over. A
-- caller that waits does, so only the process that has the turn is told. For a
-- caller that doesn't wait, all processes are told, so that one of their
-- waiters will ask; at once, if so many are dead that nobody has the turn.
local function pass()
  local id, turn, process = first()
  local told, message = KEYS[3], id
  if turn then
    redis.call('SET', KEYS[3], id, 'PX', turn)
    told = ARGV[4] == '1' and KEYS[3] .. ':' .. process or KEYS[3]
    message = id .. ' ' .. process
  end
  if turn or id and ARGV[4] ~= '1' then
    -- A user without the channel is refused, and gives the turn.
    redis.pcall('PUBLISH', told, message)
  end
  return id
end

local given = ARGV[8] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[8]) == 1
if given then
  redis.call('DEL', KEYS[1])
end
if ARGV[7] ~= '' and redis.call('GET', KEYS[3]) == ARGV[7] then
  redis.call('DEL', KEYS[3])
end
local free = given or redis.call('EXISTS', KEYS[1]) == 0
local mine = not free and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local turn = free and (redis.call('GET', KEYS[3]) or pass())
local granted = mine or
  free and (not turn or turn == ARGV[1]) and ARGV[3] == '1'
if granted then
  if turn then
    redis.call('DEL', KEYS[3])
  end
  -- A full server refuses a script that begins with HSET, and not with PEXPIRE.
  if mine then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local lease = tonumber(ARGV[2])
if ARGV[4] == '1' and ARGV[3] == '1' and not (granted and not ARGV[10]) then
  local waiter = string.format('%.0f %s %s', now() + 2 * lease, ARGV[5],
    ARGV[6])
  local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0
  local holder = ARGV[10] and redis.call('HKEYS', KEYS[1])[1]
  local places, waiters = {}, {}
  for i = 10, #ARGV do
    -- One that has come to the turn or the lock meanwhile has left the queue.
    if ARGV[i] ~= turn and ARGV[i] ~= holder then
      table.insert(places, last + i)
      table.insert(places, ARGV[i])
      table.insert(waiters, ARGV[i])
      table.insert(waiters, waiter)
    end
    -- Lua passes on some thousands of values in one call.
    if #places == 1000 or i == #ARGV and #places > 0 then
      redis.call('ZADD', KEYS[2], 'NX', unpack(places))
      redis.call('HSET', KEYS[4], unpack(waiters))
      places, waiters = {}, {}
    end
  end
  if not granted then
    local came = redis.call('ZADD', KEYS[2], 'NX', last + 9, ARGV[1]) == 1
    redis.call('HSET', KEYS[4], ARGV[1], waiter)
    if turn and turn ~= '' and not came then
      redis.pcall('PUBLISH', KEYS[3], turn) -- the message may have been lost
    end
  end
  if redis.call('PTTL', KEYS[2]) < 2 * lease then
    redis.call('PEXPIRE', KEYS[2], 2 * lease)
    redis.call('PEXPIRE', KEYS[4], 2 * lease)
  end
end
if granted then
  local tokens = tonumber(ARGV[9])
  return tokens == 0 and 1 or redis.call('INCRBY', KEYS[5], tokens) - tokens + 1
end
if turn == '' then
  return 0
end
local left = redis.call('PTTL', turn and KEYS[3] or KEYS[1])
if left < 0 or left > lease then
  left = lease -- ask once a lease, so as not to be called dead
end
return -left
