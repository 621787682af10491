-- read.lua: take a read lock while no writer is inside, or enter it once more.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a sorted set {owner: when its lease ends}
-- KEYS[3] the writers that wait, a sorted set {owner: when it is forgotten}
-- KEYS[4] the counter of the writers' fencing tokens
-- KEYS[5] the readers that wait, a sorted set {owner: the token of the last
-- writer that may come before it}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] what was returned second when the caller began to wait, or nothing
-- ARGV[5] the channel that waiters listen on
-- ARGV[6] 1 to let at most one more writer in before the caller when refused
-- Returns two integers: 1 and the counter when granted. When a writer is inside
-- or waits, or when the caller wants to enter once more and is no longer a
-- reader, returns after how long it may ask again, minus the milliseconds, or
-- 0; and a number that differs from the counter as soon as the caller has
-- waited for a writer: from then on it waits only for one that is inside.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - 1)
-- A caller that is inside as a reader has released its write lock. If that
-- release was lost, the lock has kept the others out.
local wrote = ARGV[3] ~= '1' and redis.call('HDEL', KEYS[1], ARGV[1]) == 1
if wrote then
  -- A user without the channel is refused, and may read.
  redis.pcall('PUBLISH', ARGV[5], 'all')
end
local writes = redis.call('EXISTS', KEYS[1]) == 1
local newest = tonumber(redis.call('GET', KEYS[4]) or 0)
local waited = ARGV[4] ~= '' and tonumber(ARGV[4]) ~= newest
local free = not writes and (waited or redis.call('EXISTS', KEYS[3]) == 0)
local granted = wrote or free and ARGV[3] == '1'
  or redis.call('ZSCORE', KEYS[2], ARGV[1])
-- A key lasts as long as the longest lease in it.
local function keep(key)
  if redis.call('PTTL', key) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', key, ARGV[2])
  end
end
if not granted then
  -- A caller that is far away would come too late each time, if further writers
  -- could get in meanwhile. The mark of one that dies is gone after a lease:
  -- while it keeps writers out, no other reader renews the key.
  local last = writes and newest or newest + 1
  if ARGV[3] == '1' and ARGV[6] == '1'
    and redis.call('ZCOUNT', KEYS[5], '-inf', last - 1) == 0 then
    redis.call('ZADD', KEYS[5], last, ARGV[1])
    keep(KEYS[5])
  end
  local ends = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2] or now - 1
  local left = writes and redis.call('PTTL', KEYS[1]) or ends - now -- the key may outlast the marks
  if left < 0 then
    left = tonumber(ARGV[2]) -- no lease: ask again after one of one's own
  end
  return {-left, writes and newest - 1 or newest}
end
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
keep(KEYS[2])
return {1, newest}
