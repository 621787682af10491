-- read.lua: take a read lock while no writer is inside, or enter it once more.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a set of owners with one lease
-- KEYS[3] the writers that wait, a sorted set {owner: when it is forgotten}
-- KEYS[4] the counter of the writers' fencing tokens
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] what was returned second when the caller began to wait, or nothing
-- ARGV[5] the channel that waiters listen on
-- Returns two integers: 1 and the counter when granted. When a writer is inside
-- or waits, or when the caller wants to enter once more and is no longer a
-- reader, returns after how long it may ask again, minus the milliseconds, or
-- 0; and a number that differs from the counter as soon as the caller has
-- waited for a writer: from then on it waits only for one that is inside.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - 1)
-- A reader has no write lock of its own: either the caller never heard of this
-- grant, or its release was lost. Then the caller is inside as a reader, and
-- this lock has kept the others out.
local wrote = redis.call('HDEL', KEYS[1], ARGV[1]) == 1
if wrote then
  -- A user without the channel is refused, and may read.
  redis.pcall('PUBLISH', ARGV[5], 'all')
end
local mine = redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1
  or wrote and ARGV[3] ~= '1'
local writes = redis.call('EXISTS', KEYS[1]) == 1
local newest = tonumber(redis.call('GET', KEYS[4]) or 0)
local waited = ARGV[4] ~= '' and tonumber(ARGV[4]) ~= newest
local free = not writes and (waited or redis.call('EXISTS', KEYS[3]) == 0)
if not mine and not (free and ARGV[3] == '1') then
  local ends = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2] or now - 1
  local left = writes and redis.call('PTTL', KEYS[1]) or ends - now -- the key may outlast the marks
  if left < 0 then
    left = tonumber(ARGV[2]) -- no lease: ask again after one of one's own
  end
  return {-left, writes and newest - 1 or newest}
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return {1, newest}
