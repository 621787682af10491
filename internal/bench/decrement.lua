-- decrement.lua: take one from the stock if there is any.
-- KEYS[1] the stock
-- Returns 1 when taken, 0 when the stock is empty.
if tonumber(redis.call('GET', KEYS[1])) > 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
