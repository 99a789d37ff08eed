-- sell: move units of paid orders from held to sold, exactly once per (order, hold) (I3).
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash)
-- ARGV  1 epoch
--       then two per order: order id, hold number
-- Returns {code, changes of the partition, then one per order: 1 sold now, 0 sold before, or no hold has this number}
--   code  0 done, 12 sale absent (nothing to sell), 13 recovering, 14 epoch differs, 16 partition absent,
--         17 a key has a wrong type
--
-- A sold hold ends with ":sold", so that return.lua never returns its units.

-- 1. Check before the first write.
local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'held', 'sold', 'moves')
if not sale[1] then return {12} end
local held, sold = tonumber(sale[1]), tonumber(sale[2])

-- 2. Per order: its open hold must have the given number and not be sold. Stock and limit do not change.
local reply, moved = {0, changes}, 0
for i = 2, #ARGV, 2 do
  local open = redis.call('HGET', KEYS[4], ARGV[i])
  local hold, qty, mark = hold_of(open)
  if hold == ARGV[i + 1] and mark == '' then
    redis.call('HSET', KEYS[4], ARGV[i], open .. ':sold')
    held, sold, moved = held - tonumber(qty), sold + tonumber(qty), moved + 1
    reply[#reply + 1] = 1
  else
    reply[#reply + 1] = 0
  end
end

-- 3. The counters.
if moved > 0 then
  reply[2] = count_change()
  redis.call('HSET', KEYS[2], 'held', string.format('%d', held), 'sold', string.format('%d', sold),
    'moves', string.format('%d', tonumber(sale[3]) + 1))
end
return reply
