-- renew.lua: make sure that the lock is there, with its lease.
-- KEYS[1] the lock
-- ARGV[1] the caller's token
-- ARGV[2] the lease in milliseconds
-- Returns 1.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
