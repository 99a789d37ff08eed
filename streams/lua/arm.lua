-- arm: allow a sale to sell.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash, not used)
-- ARGV  1 epoch
--
-- Returns {code}: 0 armed now, 1 armed before, 12 sale absent, 13 recovering, 14 epoch differs, 16 partition absent,
--   17 a key has a wrong type

local code = rejection()
if code then return {code} end
local armed = redis.call('HGET', KEYS[2], 'armed')
if not armed then return {12} end
if armed == '1' then return {1} end
redis.call('HSET', KEYS[2], 'armed', '1')
return {0}
