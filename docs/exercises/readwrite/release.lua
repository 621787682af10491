-- release.lua: leave one level of the write lock, or of a read lock, if it is
-- still the caller's. A writer that reads as well remains as a reader.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a set of owners with one lease
-- KEYS[3] the writers that wait, a sorted set {owner: when it is forgotten}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] how often the caller will be inside as a writer
-- ARGV[4] how often it will be inside as a reader
-- ARGV[5] the channel that waiters listen on
-- Returns 2 when the write lock was the caller's, 1 when a read lock was, and 0
-- when neither was. A key of another type is not the caller's either: pcall
-- returns its error in place of a number.
local writer = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
local reader = redis.pcall('SISMEMBER', KEYS[2], ARGV[1]) == 1
local found = writer and 2 or reader and 1 or 0
if writer and ARGV[3] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return found
end
-- Removing comes before telling: a user who may not publish gets an error, but
-- the lock is free.
if writer then
  redis.call('DEL', KEYS[1])
end
if found > 0 and ARGV[4] ~= '0' then
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
elseif reader then
  redis.call('SREM', KEYS[2], ARGV[1])
end
-- A waiting writer that gives up lets readers in.
local gave_up = redis.pcall('ZREM', KEYS[3], ARGV[1]) == 1
if writer or gave_up then
  redis.call('PUBLISH', ARGV[5], 'all')
elseif reader and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('PUBLISH', ARGV[5], 'writer')
end
return found
