-- change.lua: raise every price of the list by one, in one step.
-- KEYS[1], KEYS[2] its two pages, hashes {article: price}
-- Returns the new price.
local price = 0
for _, page in ipairs(KEYS) do
  for _, article in ipairs(redis.call('HKEYS', page)) do
    price = redis.call('HINCRBY', page, article, 1)
  end
end
return price
