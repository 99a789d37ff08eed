-- return: give the units of ended orders back to one sale, exactly once per (order, hold) (I3).
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash)   4 its open holds (hash)
-- ARGV  1 epoch   2 cooldown after an empty stock (ms)
--       then four per order: order id, hold number, user id of the order, burn (1: the units are withdrawn, not sold
--       again (I2))
--
-- Returns {code, changes of the partition, then one per order: 1 returned now, 0 nothing to return under this hold number}
--   code  0 done, 12 sale absent (nothing to return), 13 recovering, 14 epoch differs, 16 partition absent,
--         17 a key has a wrong type

-- 1. Check before the first write.
local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'stock', 'held', 'withdrawn', 'burnt', 'moves')
if not sale[1] then return {12} end
local before = tonumber(sale[1])
local stock, held, withdrawn, burnt = before, tonumber(sale[2]), tonumber(sale[3]), tonumber(sale[4])

-- 2. Per order: its open hold must have the given number.
local reply, returned = {0, changes}, 0
for i = 3, #ARGV, 4 do
  local hold, units_held, mark = hold_of(redis.call('HGET', KEYS[4], ARGV[i]))
  if hold == ARGV[i + 1] and mark == '' then
    local qty, user = tonumber(units_held), ARGV[i + 2]
    redis.call('HDEL', KEYS[4], ARGV[i])
    local units, records = string.match(redis.call('HGET', KEYS[3], user) or '0|0|', '^(%d+)|(.*)$')
    redis.call('HSET', KEYS[3], user, string.format('%d', math.max(0, tonumber(units) - qty)) .. '|' .. records)
    held = held - qty
    if ARGV[i + 3] == '1' then
      withdrawn, burnt = withdrawn + qty, burnt + qty
    else
      stock = stock + qty
    end
    returned = returned + 1
    reply[#reply + 1] = 1
  else
    reply[#reply + 1] = 0
  end
end

-- 3. The counters. Units that return to an empty stock have a cooldown until every sold-out flag has ended (I9).
if returned > 0 then
  reply[2] = count_change()
  redis.call('HSET', KEYS[2], 'stock', string.format('%d', stock), 'held', string.format('%d', held),
    'withdrawn', string.format('%d', withdrawn), 'burnt', string.format('%d', burnt),
    'moves', string.format('%d', tonumber(sale[5]) + 1))
  if before == 0 and stock > 0 then
    redis.call('HSET', KEYS[2], 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[2])))
  end
end
return reply
