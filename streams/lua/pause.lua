-- pause: mark a partition as rebuilding; from here on nothing is reserved, held, returned or settled in it.
-- A partition that Redis does not know is made, so that State sees a rebuild that was broken off.
--
-- KEYS  1 meta (hash)
--
-- Returns {code}: 0 done, 17 the key has a wrong type (it is replaced only by resume)

local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'none' and t ~= 'hash' then return {17} end
redis.call('HSET', KEYS[1], 'state', 'rebuilding', 'history', (history())) -- resume looks whether it is still the same
redis.call('HDEL', KEYS[1], 'building') -- the epoch for which a sale was restored last, by an earlier rebuild
redis.call('HSETNX', KEYS[1], 'epoch', '0')
redis.call('HSETNX', KEYS[1], 'seq', '0')
redis.call('HSETNX', KEYS[1], 'waiting', '0')
return {0}
