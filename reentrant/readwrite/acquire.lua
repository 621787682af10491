-- acquire.lua: take the write lock if nobody is inside, or enter it once more.
-- KEYS[1] the write lock, a hash {owner: count}
-- KEYS[2] the readers, a sorted set {owner: when its lease ends}
-- KEYS[3] the writers that wait, a sorted set {owner: when it is forgotten}
-- KEYS[4] the counter of the writers' fencing tokens, which is never removed
-- KEYS[5] the readers that wait, a sorted set {owner: the token of the last
-- writer that may come before it}
-- ARGV[1] the caller's owner id
-- ARGV[2] the lease in milliseconds
-- ARGV[3] the count that the caller will have
-- ARGV[4] 1 to hold new readers back when refused, for a lease at most, unless
-- the caller is inside already
-- Returns the fencing token when granted. When others are inside, or when the
-- caller wants to enter once more and the lock is no longer its own, returns
-- what remains of their leases: minus the milliseconds, or 0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- A lease ends after its last millisecond, as Redis's own expiry does: the
-- clock's fractions are cut off, and a client counts with them.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local newest = redis.call('GET', KEYS[4]) or '0'
local behind = redis.call('ZCOUNT', KEYS[5], '-inf', newest) > 0
local free = redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 and not behind
if not mine and not (free and ARGV[3] == '1') then
  if ARGV[4] == '1' and ARGV[3] == '1' then
    redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
    if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[2]) then
      redis.call('PEXPIRE', KEYS[3], ARGV[2])
    end
  end
  -- One with a longer lease may have left, and the key outlasts the readers.
  local ends = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or now - 1
  local left = math.max(redis.call('PTTL', KEYS[1]), ends - now,
    behind and redis.call('PTTL', KEYS[5]) or -1)
  if left < 0 then
    left = tonumber(ARGV[2]) -- no lease: ask again after one of one's own
  end
  return -left
end
redis.call('ZREM', KEYS[3], ARGV[1])
-- The owner keeps its token. A counter that was removed begins anew, or the
-- owner would be refused by its own lock. The counter comes before the lock:
-- should it fail, nothing is locked.
local token = mine and redis.call('GET', KEYS[4]) or redis.call('INCR', KEYS[4])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(token)
