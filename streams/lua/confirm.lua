-- confirm: let a partition sell on a server whose history has begun since somebody looked last, after everything that is
-- known to have been accepted was found in it.
--
-- KEYS  1 meta (hash)
-- ARGV  1 epoch   2 the history that was confirmed before ('': none)   3 the history that was looked at
--
-- Returns {code}: 0 done, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--   20 it is another one by now: look again

local code = turned_away()
if code then return {code} end
if (redis.call('HGET', KEYS[1], 'history') or '') ~= ARGV[2] or history() ~= ARGV[3] then return {20} end
redis.call('HSET', KEYS[1], 'history', ARGV[3])
return {0}
