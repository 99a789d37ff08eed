-- arm: let a sale sell.
--
-- KEYS  1 meta (hash)   2 sale (hash)
-- ARGV  1 epoch
--
-- Returns {code}: 0 armed now, 1 it was armed, 12 sale absent, 13 rebuilding, 14 epoch differs, 16 partition absent

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state')
if not meta[2] then return {16} end
if meta[2] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end
local armed = redis.call('HGET', KEYS[2], 'armed')
if not armed then return {12} end
if armed == '1' then return {1} end
redis.call('HSET', KEYS[2], 'armed', '1')
return {0}
