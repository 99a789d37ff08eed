-- create: write a sale that was never loaded, unarmed. An existing sale is not changed (I7), unless it is unarmed and
-- of an older version: it was edited after the caller read it, and has sold nothing.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash)   4 sale open (hash)
-- ARGV  1 epoch   2 version of the sale   3… field, value pairs of the sale hash
--
-- Returns {code}: 0 written now, 1 it exists, 13 recovering, 14 epoch differs, 16 partition absent,
--   17 a key has a wrong type

local code = rejection()
if code then return {code} end
local there = redis.call('HMGET', KEYS[2], 'armed', 'version')
local older = there[1] == '0' and tonumber(there[2]) < tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[2]) == 1 and not older then return {1} end

-- Buyers and holds without a sale are stale: the sale was never loaded.
redis.call('HSET', KEYS[2], unpack(ARGV, 3))
redis.call('UNLINK', KEYS[3], KEYS[4])
return {0}
