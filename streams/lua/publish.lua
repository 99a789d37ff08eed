-- publish: notify the nodes of changed rows (F2, F4).
--
-- KEYS  1 meta (hash)
-- ARGV  1 Redis time read before the transaction that touched the rows began, ms   2 maximum age of that time, ms
--       3 channel   4 the changes, one per line (shop.Message)
--
-- Returns {code, number of the message}
--   code  0 published, 17 a key has a wrong type, 21 touched too long ago or in the future: not published
--
-- It checks neither epoch nor state of the partition: committed rows are valid in every state of Redis.

local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'none' and t ~= 'hash' then return {17, 0} end
if too_late(ARGV[1], ARGV[2]) then return {21, 0} end
return {0, publish_lines(KEYS[1], ARGV[3], ARGV[4])}
