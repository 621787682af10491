-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- KEYS[2] the counter of its fencing tokens, which ends with the lease
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- Returns the fencing token when granted, 0 when somebody else holds the lock,
-- or when the caller wants to enter once more and the lock is not its own now.
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local free = redis.call('EXISTS', KEYS[1]) == 0
if not mine and not (free and ARGV[3] == '1') then
  return 0
end
-- The owner keeps its token. A counter that was removed begins anew, or the
-- owner would be refused by its own lock. The counter comes before the lock:
-- should it fail, nothing is locked.
local token = mine and redis.call('GET', KEYS[2]) or redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return tonumber(token)
