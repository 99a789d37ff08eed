-- take_out: withdraw free units from a sale permanently for an operator, exactly once per operation. It takes at most
-- the free units. Held units stay with their buyers.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash, not used)
-- ARGV  1 epoch   2 id of the operation   3 maximum number of units
--
-- Returns {code, changes of the partition, taken}
--   code   0 decided, now or before, 12 sale absent, 13 recovering, 14 epoch differs, 16 partition absent,
--          17 a key has a wrong type, 18 units is not a positive whole number
--   taken  units that the operation has taken; 0: none was free
--
-- The decision stays in the field out:<operation id> while the sale exists, so a repeated call takes nothing more. The
-- database deducts the units from its own count afterwards, under the same epoch (I2, I8).

local code, changes = rejection()
if code then return {code} end
if not string.find(ARGV[3], '^[1-9]%d*$') then return {18} end
local field = 'out:' .. ARGV[2]
local sale = redis.call('HMGET', KEYS[2], 'stock', 'withdrawn', 'moves', field)
if not sale[1] then return {12} end
if sale[4] then return {0, changes, tonumber(sale[4])} end
local stock = tonumber(sale[1])
local taken = math.max(0, math.min(stock, tonumber(ARGV[3])))
redis.call('HSET', KEYS[2], field, string.format('%d', taken), 'stock', string.format('%d', stock - taken),
  'withdrawn', string.format('%d', tonumber(sale[2]) + taken), 'moves', string.format('%d', tonumber(sale[3]) + 1))
return {0, count_change(), taken}
