-- publish: tell the nodes of rows that have changed (F2, F4).
--
-- KEYS  1 meta (hash)
-- ARGV  1 Redis time before the transaction began that stamped the rows, ms   2 how long ago that may be, ms
--       3 channel   4 the changes, a line each (shop.Message)
--
-- Returns {code, number of the message}
--   code  0 published, 17 a key has a wrong type, 21 stamped too long ago, or in the future: nobody was told
--
-- It asks neither for the epoch nor for the state of the partition: what is told are rows, whatever Redis has been through.

local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'none' and t ~= 'hash' then return {17, 0} end
if too_late(ARGV[1], ARGV[2]) then return {21, 0} end
return {0, tell(KEYS[1], ARGV[3], ARGV[4])}
