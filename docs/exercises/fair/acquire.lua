-- acquire.lua: take the lock if it is free, and the caller is first in the queue.
-- KEYS[1] the lock
-- KEYS[2] the queue, a list of tokens
-- ARGV[1] the caller's token
-- ARGV[2] the lease in milliseconds
-- ARGV[3] 1 to queue up when refused
-- Returns 1 when granted, 0 when refused.
local first = redis.call('LINDEX', KEYS[2], 0)
local free = redis.call('EXISTS', KEYS[1]) == 0
if free and (not first or first == ARGV[1]) then
  redis.call('LPOP', KEYS[2])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
if ARGV[3] == '1' then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
return 0
