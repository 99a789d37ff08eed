-- create: write a sale that was never loaded. The new sale is unarmed. An existing sale does not change (I7), unless it
-- is unarmed and has an older version than the caller's: then the sale was edited since, and has sold nothing.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash)   4 its open holds (hash)
-- ARGV  1 epoch   2 version of the sale   3… field, value pairs of the sale hash
--
-- Returns {code}: 0 written now, 1 it exists, 13 recovering, 14 epoch differs, 16 partition absent,
--   17 a key has a wrong type

local code = rejection()
if code then return {code} end
local stored = redis.call('HMGET', KEYS[2], 'armed', 'version')
local older = stored[1] == '0' and tonumber(stored[2]) < tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[2]) == 1 and not older then return {1} end

-- Buyers and holds without a sale are stale: the sale was never loaded.
redis.call('HSET', KEYS[2], unpack(ARGV, 3))
redis.call('UNLINK', KEYS[3], KEYS[4])
return {0}
