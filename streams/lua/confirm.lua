-- confirm: allow a partition to sell on a server with a new history. The caller has found all known accepted orders
-- in it.
--
-- KEYS  1 meta (hash)
-- ARGV  1 epoch   2 the history that was confirmed before ('': none)   3 the history that the caller checked
--
-- Returns {code}: 0 done, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--   20 the history has changed: check again

local code = rejection()
if code then return {code} end
if (redis.call('HGET', KEYS[1], 'history') or '') ~= ARGV[2] or history() ~= ARGV[3] then return {20} end
redis.call('HSET', KEYS[1], 'history', ARGV[3])
return {0}
