-- read.lua: read the whole list in one step.
-- KEYS[1], KEYS[2] its two pages, hashes {article: price}
-- Returns all prices.
local prices = redis.call('HVALS', KEYS[1])
for _, price in ipairs(redis.call('HVALS', KEYS[2])) do
  table.insert(prices, price)
end
return prices
