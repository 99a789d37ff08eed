-- confirm: let a partition sell on a server whose history has begun since somebody looked last, after everything that is
-- known to have been accepted was found in it.
--
-- KEYS  1 meta (hash)
-- ARGV  1 epoch   2 the history that was confirmed before ('': none)   3 the history that was looked at
--
-- Returns {code}: 0 done, 13 rebuilding, 14 epoch differs, 16 partition absent, 20 it is another one by now: look again

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'history')
if not meta[2] then return {16} end
if meta[2] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end
if (meta[3] or '') ~= ARGV[2] or history() ~= ARGV[3] then return {20} end
redis.call('HSET', KEYS[1], 'history', ARGV[3])
return {0}
