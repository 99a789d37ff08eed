-- correct: set the counters of a sale to what its holds add up to. All other scripts move both together, so they differ only
-- after a defect, or when somebody has changed keys by hand.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash, not touched)   4 sale open (hash, not touched)
-- ARGV  1 epoch   2 tickets   3 moves   4 withdrawn   5 held   6 sold   7 stock (all units)   8 rest after an empty stock (ms)
--
-- The caller has read every hold of the sale, one after the other, and a committed row for each of them (app/recovery/recount.go). That
-- counts for this instant because no hold has changed since then: each reservation gives out a ticket, and whatever else
-- changes a hold moves `moves`. The same call again changes nothing: moves has moved.
--
-- Returns {code, result}
--   code    0 done, 12 sale absent, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 the figures do not add up to what the sale has
--   result  1 corrected now, 0 a hold has changed, or reservations are under way: nothing is changed

local code = turned_away()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'tickets', 'done', 'moves', 'withdrawn', 'initial', 'added', 'stock')
if not sale[7] then return {12} end
if sale[1] ~= ARGV[2] or sale[2] ~= sale[1] or sale[3] ~= ARGV[3] or sale[4] ~= ARGV[4] then return {0, 0} end
local held, sold, stock = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if math.min(held, sold, stock) < 0 or held + sold + stock + tonumber(sale[4]) ~= tonumber(sale[5]) + tonumber(sale[6]) then
  return {18}
end
redis.call('HSET', KEYS[2], 'held', ARGV[5], 'sold', ARGV[6], 'stock', ARGV[7],
  'moves', string.format('%d', tonumber(ARGV[3]) + 1))
-- Units that come back to an empty stock rest until every sold-out flag has ended (I9).
if tonumber(sale[7]) <= 0 and stock > 0 then
  redis.call('HSET', KEYS[2], 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[8])))
end
return {0, 1}
