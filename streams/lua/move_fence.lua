-- move_fence: let a portion of a spread sale take part in no move up to a number any more, and say what moves have left it
-- with.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash, not touched)   4 sale open (hash, not touched)
-- ARGV  1 epoch   2 number of the fence
--
-- Returns {code, figure}
--   code    0 fenced, now or before, 1 a later number is known: nothing was done, 12 sale absent or not armed, 13 rebuilding,
--           14 epoch differs, 16 partition absent, 17 a key has a wrong type, 18 the number is not a positive whole one
--   figure  0: units that it was given, with what moves have taken and brought; 1: the later number
--
-- It is asked after the database was promoted, which may have forgotten moves: from here on move_out and move_in find that
-- a later one is known, also those of nodes that had stopped with an older one in hand. No unit moves, so `moves` stays.

local code = turned_away()
if code then return {code} end
if not string.find(ARGV[2], '^[1-9]%d*$') then return {18} end
local sale = redis.call('HMGET', KEYS[2], 'armed', 'initial', 'moved_out', 'moved_in')
if sale[1] ~= '1' then return {12} end
local last = math.max(tonumber(sale[3] or '0'), tonumber(sale[4] or '0'))
if last > tonumber(ARGV[2]) then return {1, last} end
redis.call('HSET', KEYS[2], 'moved_out', ARGV[2], 'moved_in', ARGV[2])
redis.call('HDEL', KEYS[2], 'moved_units')
return {0, tonumber(sale[2])}
