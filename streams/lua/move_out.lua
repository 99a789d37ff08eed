-- move_out: take free units out of a portion of a spread sale, on their way to another one, exactly once per move. At most
-- what is free and does not rest.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash, not touched)   4 sale open (hash, not touched)
-- ARGV  1 epoch   2 number of the move   3 units at most
--
-- Returns {code, taken}
--   code   0 decided, now or before, 1 a later move is known, or what this one took is known by the database alone: nothing
--          was done, 12 sale absent or not armed, 13 rebuilding, 14 epoch differs, 16 partition absent, 17 a key has a wrong
--          type, 18 units is not a positive whole number
--   taken  units that the move has taken; 0: nothing was free then
--
-- A sale has one move at a time, under growing numbers, so the last one is all that has to be remembered. The database has
-- the units belong to the other portion afterwards, under the same epoch (I2, I8). Units that came back to an empty stock
-- rest until every sold-out flag has ended (I9): they do not move before, so that none has to rest where it arrives.

local code = turned_away()
if code then return {code} end
if not string.find(ARGV[3], '^[1-9]%d*$') then return {18} end
local sale = redis.call('HMGET', KEYS[2], 'armed', 'stock', 'initial', 'moves', 'rest_until', 'moved_out', 'moved_units')
if sale[1] ~= '1' then return {12} end
local last = tonumber(sale[6] or '0')
if tonumber(ARGV[2]) < last then return {1} end
if tonumber(ARGV[2]) == last then
  if not sale[7] then return {1} end
  return {0, tonumber(sale[7])}
end
local stock, taken = tonumber(sale[2]), 0
if tonumber(sale[5]) <= redis_time() then taken = math.max(0, math.min(stock, tonumber(ARGV[3]))) end
redis.call('HSET', KEYS[2], 'moved_out', ARGV[2], 'moved_units', string.format('%d', taken),
  'stock', string.format('%d', stock - taken), 'initial', string.format('%d', tonumber(sale[3]) - taken),
  'moves', string.format('%d', tonumber(sale[4] or '0') + 1))
return {0, taken}
