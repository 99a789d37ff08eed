-- terms: set the terms of a sale by version: price, limits, window, pause, and the units added since the beginning. A
-- version that is not newer than the stored one changes nothing, so calls may be repeated and arrive in any order.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash, not used)
-- ARGV  1 epoch   2 version   3 price (fen)   4 limit (units)   5 cap (reservations)   6 opens (ms)   7 closes (ms)
--       8 paused (0 or 1)   9 added (units, total)   10 cooldown after an empty stock (ms)
--
-- Returns {code, changes of the partition}
--   code  0 set now, 1 this version or a newer one is stored, 12 sale absent, 13 recovering, 14 epoch differs,
--         16 partition absent, 17 a key has a wrong type, 18 added is smaller than the stored total:
--         the units may already be sold
--
-- The database adds the units before this call (I2).

-- 1. Check before the first write.
local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'version', 'added', 'stock', 'moves')
if not sale[1] then return {12} end
if tonumber(sale[1]) >= tonumber(ARGV[2]) then return {1, changes} end
local more, before = tonumber(ARGV[9]) - tonumber(sale[2]), tonumber(sale[3])
if more < 0 then return {18} end

-- 2. Set all terms together: a buy sees the old terms or the new ones.
redis.call('HSET', KEYS[2], 'version', ARGV[2], 'price', ARGV[3], 'limit', ARGV[4], 'cap', ARGV[5], 'opens', ARGV[6],
  'closes', ARGV[7], 'paused', ARGV[8])

-- 3. Added units. They invalidate a running recount (moves). Units added to an empty stock have a cooldown until every
--    sold-out flag has ended (I9).
if more > 0 then
  redis.call('HSET', KEYS[2], 'added', ARGV[9], 'stock', string.format('%d', before + more),
    'moves', string.format('%d', tonumber(sale[4]) + 1))
  if before <= 0 and before + more > 0 then
    redis.call('HSET', KEYS[2], 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[10])))
  end
end
return {0, count_change()}
