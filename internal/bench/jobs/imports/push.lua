-- push.lua: put a task at the head of a queue and tell the workers.
-- KEYS[1] the queue
-- KEYS[2] the hash of how many tasks of each group wait in it
-- KEYS[3] the log
-- ARGV[1] the task
-- ARGV[2] its number
-- ARGV[3] its group
-- ARGV[4] the channel of the workers
-- Returns how many tasks are in the queue.
local length = redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], ARGV[3], 1)
redis.call('RPUSH', KEYS[3], 'push ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' -')
redis.call('PUBLISH', ARGV[4], 'push')
return length
