-- acquire.lua: take the lock if it is free, and nobody else has the turn.
-- KEYS[1] the lock
-- KEYS[2] the queue, a list of tokens
-- ARGV[1] the caller's token
-- ARGV[2] the lease in milliseconds
-- ARGV[3] 1 to queue up when refused
-- Returns 1 when granted, 0 when refused.
local turn = string.gsub(KEYS[2], 'queue$', 'turn')
if redis.call('EXISTS', KEYS[1]) == 0 then
  local first = redis.call('GET', turn)
  if not first then
    first = redis.call('LPOP', KEYS[2])
    if first then
      redis.call('SET', turn, first, 'PX', math.floor(ARGV[2] / 20))
    end
  end
  if not first or first == ARGV[1] then
    redis.call('DEL', turn)
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
  end
end
if ARGV[3] == '1' then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
return 0
