-- watch: store the number of people who watch a sale on a node. It is a hint: the key has a TTL, and nothing depends
-- on it.
--
-- KEYS  1 watching (hash)
-- ARGV  1 node   2 count   3 lifetime of the count, ms
--
-- Returns {code}: 0 done, 17 the key has a wrong type
--
-- A field is count:expires_ms. This script and watching.lua use the clock of the same server.

local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'hash' then return {17} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ':' .. string.format('%.0f', redis_time() + tonumber(ARGV[3])))
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[3]))
return {0}
