-- release.lua: leave one level of the write lock, or of a read lock, if it is
-- still the caller's. A writer that reads as well remains as a reader.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a sorted set {owner: when its lease ends}
-- KEYS[3] the writers that wait, a sorted set {owner: when it is forgotten}
-- KEYS[4] the counter of the writers' fencing tokens
-- KEYS[5] the readers that wait, a sorted set {owner: the token of the last
-- writer that may come before it}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] how often the caller will be inside as a writer
-- ARGV[4] how often it will be inside as a reader
-- ARGV[5] the channel that waiters listen on
-- Returns 2 when the write lock was the caller's, 1 when a read lock was, and 0
-- when neither was. A key of another type is not the caller's either: pcall
-- returns its error in place of a number.
local writer = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
-- If this comes late, the caller may be a reader by now, and stays one.
if ARGV[3] ~= '0' and not writer then
  return 0
end
if ARGV[3] ~= '0' then
  -- A full server refuses a script that begins with HSET, and not with PEXPIRE.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  return 2
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.pcall('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
local reader = type(redis.pcall('ZSCORE', KEYS[2], ARGV[1])) == 'string'
local found = writer and 2 or reader and 1 or 0
-- Removing comes before telling: a user who may not publish gets an error, but
-- the lock is free.
if writer then
  redis.call('DEL', KEYS[1])
end
if found > 0 and ARGV[4] ~= '0' then
  redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
  end
elseif reader then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
-- One that gives up waiting lets those in that it has held back.
local gave_up = redis.pcall('ZREM', KEYS[3], ARGV[1]) == 1
  or redis.pcall('ZREM', KEYS[5], ARGV[1]) == 1
if writer or gave_up then
  redis.call('PUBLISH', ARGV[5], 'all')
elseif reader and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('PUBLISH', ARGV[5], 'writer')
end
return found
