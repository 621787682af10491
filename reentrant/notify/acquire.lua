-- acquire.lua: take a free lock, or enter once more a lock of one's own.
-- KEYS[1] the lock, a hash {owner: count}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- Returns 1 when granted. When somebody else holds the lock, or when the caller
-- wants to enter once more and the lock is no longer its own, returns what
-- remains of the holder's lease: minus the milliseconds, or 0.
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local free = redis.call('EXISTS', KEYS[1]) == 0
if not mine and not (free and ARGV[3] == '1') then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then
    left = tonumber(ARGV[2]) -- no lease: ask again after one of one's own
  end
  return -left
end
-- A full server refuses a script that begins with HSET, and not with PEXPIRE.
if mine then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
