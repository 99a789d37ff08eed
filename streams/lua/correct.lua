-- correct: set the counters of a sale to the sums of its holds. All other scripts change counters and holds together.
-- Counters differ from holds only after a defect or after manual changes of keys.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash, not used)
-- ARGV  1 epoch   2 tickets   3 moves   4 withdrawn   5 held   6 sold   7 stock (all units)
--       8 cooldown after an empty stock (ms)
--
-- The caller has read every hold of the sale, one after the other, and a committed row for each
-- (app/recovery/recount.go). The sums are still valid because no hold has changed since: each reservation issues a
-- ticket, and every other change of a hold increments `moves`. A repeated call changes nothing, because `moves` has
-- changed.
--
-- Returns {code, changes of the partition, result}
--   code    0 done, 12 sale absent, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 the figures violate the stock equation of the sale
--   result  1 corrected now, 0 nothing changed: a hold has changed, or reservations are not settled

local code, changes = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'tickets', 'done', 'moves', 'withdrawn', 'initial', 'added', 'stock')
if not sale[7] then return {12} end
if sale[1] ~= ARGV[2] or sale[2] ~= sale[1] or sale[3] ~= ARGV[3] or sale[4] ~= ARGV[4] then return {0, changes, 0} end
local held, sold, stock = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if math.min(held, sold, stock) < 0 or held + sold + stock + tonumber(sale[4]) ~= tonumber(sale[5]) + tonumber(sale[6]) then
  return {18}
end
redis.call('HSET', KEYS[2], 'held', ARGV[5], 'sold', ARGV[6], 'stock', ARGV[7],
  'moves', string.format('%d', tonumber(ARGV[3]) + 1))
-- Units that return to an empty stock have a cooldown until every sold-out flag has ended (I9).
if tonumber(sale[7]) <= 0 and stock > 0 then
  redis.call('HSET', KEYS[2], 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[8])))
end
return {0, count_change(), 1}
