-- hold: take units for an existing order, under a new hold number. Stock and limit have the rules of reserve.lua.
-- Window, pause and cap are not checked.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash)   4 its open holds (hash)
-- ARGV  1 epoch   2 order id   3 user id   4 hold number   5 quantity (units)
--
-- Returns {code, changes of the partition, verdict, number}
--   code     0 decided, 12 sale absent, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type
--   verdict  1 held now; or an older hold of the order that was never returned gets this number
--            2 held under this number before
--            3 a newer hold of the order is open: this request is late
--            7 limit per buyer     9 not enough units     11 cooldown, number = milliseconds

-- 1. Check before the first write.
local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'stock', 'held', 'limit', 'rest_until', 'moves')
if not sale[1] then return {12} end
local order, user, hold, qty = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local moves = string.format('%d', tonumber(sale[5]) + 1)

-- 2. An open hold of this order already has the units. At most its number changes.
local open = redis.call('HGET', KEYS[4], order)
if open then
  local standing = tonumber(string.match(open, '^%d+'))
  if standing == hold then return {0, changes, 2, 0} end
  if standing > hold then return {0, changes, 3, 0} end
  redis.call('HSET', KEYS[4], order, ARGV[4] .. string.match(open, ':.*$'))
  redis.call('HSET', KEYS[2], 'moves', moves)
  return {0, count_change(), 1, 0}
end

-- 3. The rules of the gate.
local units, records = string.match(redis.call('HGET', KEYS[3], user) or '0|0|', '^(%d+)|(.*)$')
local stock, held = tonumber(sale[1]), tonumber(sale[2])
if tonumber(units) + qty > tonumber(sale[3]) then return {0, changes, 7, 0} end
if qty > stock then return {0, changes, 9, 0} end
local rest = tonumber(sale[4]) - redis_time()
if rest > 0 then return {0, changes, 11, rest} end

-- 4. Take the units.
redis.call('HSET', KEYS[4], order, ARGV[4] .. ':' .. ARGV[5])
redis.call('HSET', KEYS[3], user, string.format('%d', tonumber(units) + qty) .. '|' .. records)
redis.call('HSET', KEYS[2], 'stock', string.format('%d', stock - qty), 'held', string.format('%d', held + qty),
  'moves', moves)
return {0, count_change(), 1, 0}
