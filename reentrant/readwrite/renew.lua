-- renew.lua: extend the caller's own lease, if the lock is still the caller's.
-- If the caller has released the write lock and reads on, and that release
-- never came here, release the write lock now.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a sorted set {owner: when its lease ends}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] 1 when the caller has released the write lock
-- ARGV[4] the channel that waiters listen on
-- Returns 1 when extended, 0 when neither lock is the caller's: then it creates
-- none. A key of another type is not the caller's either: pcall returns its
-- error in place of a number.
local writer = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
if writer and ARGV[3] == '0' then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- This comes first: a full server refuses a script that begins with ZADD, which
-- needs memory, and so would take the lock from its readers.
redis.pcall('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
local reader = type(redis.pcall('ZSCORE', KEYS[2], ARGV[1])) == 'string'
if not writer and not reader then
  return 0
end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
if writer then
  redis.call('DEL', KEYS[1])
  redis.pcall('PUBLISH', ARGV[4], 'all') -- as in read.lua
end
return 1
