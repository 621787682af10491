-- record.lua: append to the log what happens to a task.
-- KEYS[1] the log
-- KEYS[2] the hash of how often each task was started
-- ARGV[1] what happens: begin, end, fail or dead
-- ARGV[2] the task's number
-- ARGV[3] its group
-- ARGV[4] the worker
-- Returns how often the task was started, 0 for what is no start.
redis.call('RPUSH', KEYS[1], table.concat(ARGV, ' '))
if ARGV[1] == 'begin' then
  return redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
end
return 0
