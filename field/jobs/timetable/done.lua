-- done.lua: write down that a job was done, unless somebody else has.
-- KEYS[1] the record: when the newest job that was done had been due, in ms
-- ARGV[1] when the job was due, in ms
-- Returns 1 when written, 0 when this or a later job was done before.
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
