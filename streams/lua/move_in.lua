-- move_in: give a portion of a spread sale the units that were taken out of another one, exactly once per move.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash, not touched)   4 sale open (hash, not touched)
-- ARGV  1 epoch   2 number of the move   3 units
--
-- Returns {code}: 0 given now, 1 they are here already, 12 sale absent or not armed, 13 rebuilding, 14 epoch differs,
--   16 partition absent, 17 a key has a wrong type, 18 units is not a positive whole number
--
-- The database has given them to this portion before (I2); what was made from it since has them, and says so in moved_in.
-- They did not rest when they were taken, so they may be sold at once (see move_out).

local code = turned_away()
if code then return {code} end
if not string.find(ARGV[3], '^[1-9]%d*$') then return {18} end
local sale = redis.call('HMGET', KEYS[2], 'armed', 'stock', 'initial', 'moves', 'moved_in')
if sale[1] ~= '1' then return {12} end
if tonumber(ARGV[2]) <= tonumber(sale[5] or '0') then return {1} end
redis.call('HSET', KEYS[2], 'moved_in', ARGV[2], 'stock', string.format('%d', tonumber(sale[2]) + tonumber(ARGV[3])),
  'initial', string.format('%d', tonumber(sale[3]) + tonumber(ARGV[3])),
  'moves', string.format('%d', tonumber(sale[4] or '0') + 1))
return {0}
