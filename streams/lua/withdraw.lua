-- withdraw: remove units of refunded orders from the sale permanently, exactly once per (order, hold) (I3). These units
-- are not sold again, and still count to the limit of their buyer.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash)
-- ARGV  1 epoch
--       then two per order: order id, hold number
--
-- Returns {code, changes of the partition, then one per order: 1 withdrawn now, 0 nothing is held or sold under this hold
--   number}
--   code  0 done, 12 sale absent (nothing to withdraw), 13 recovering, 14 epoch differs, 16 partition absent,
--         17 a key has a wrong type
--
-- The stock does not change, so Redis and the database may be updated in either order (I2).

-- 1. Check before the first write.
local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'held', 'sold', 'withdrawn', 'moves')
if not sale[1] then return {12} end
local held, sold, withdrawn = tonumber(sale[1]), tonumber(sale[2]), tonumber(sale[3])

-- 2. Per order: its open hold must have the given number. The hold is not marked as sold if the process that received
--    the payment died before it called sell.lua.
local reply, moved = {0, changes}, 0
for i = 2, #ARGV, 2 do
  local hold, units, mark = hold_of(redis.call('HGET', KEYS[4], ARGV[i]))
  if hold == ARGV[i + 1] then
    local qty = tonumber(units)
    redis.call('HDEL', KEYS[4], ARGV[i])
    if mark == ':sold' then sold = sold - qty else held = held - qty end
    withdrawn, moved = withdrawn + qty, moved + 1
    reply[#reply + 1] = 1
  else
    reply[#reply + 1] = 0
  end
end

-- 3. The counters.
if moved > 0 then
  reply[2] = count_change()
  redis.call('HSET', KEYS[2], 'held', string.format('%d', held), 'sold', string.format('%d', sold),
    'withdrawn', string.format('%d', withdrawn), 'moves', string.format('%d', tonumber(sale[4]) + 1))
end
return reply
