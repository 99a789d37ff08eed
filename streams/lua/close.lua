-- close: close a partition for a recovery. From here on nothing is reserved, held, returned, settled or trimmed in it, and keys
-- stay valid. A partition that Redis does not know is made, so that State sees a recovery that was interrupted.
--
-- KEYS  1 meta (hash)
-- ARGV  1 claim: the epoch that this recovery will begin
--       2 lost: 1 when Redis has lost writes, so that the sales are restored from rows. It stays so until open.
--       3 the history in which nothing was found missing; not used when Redis has lost writes
--       4 server   5 generation of the database on which the recovery works
--
-- Returns {code}: 0 closed, 14 the partition is at that epoch already, or another recovery claims a later one, or has
--   claimed it on another server of that generation, or a later generation is known,
--   17 the key has a wrong type, 20 the server began another history since: what it lacks is not known, so start over
--
-- Of two recoveries at once the later claim continues: epochs come from the database, which gives out each one once.

local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'none' and t ~= 'hash' then return {17} end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'claim', 'db_generation', 'claim_generation', 'claim_server')
local claim, generation, claimed = tonumber(ARGV[1]), tonumber(ARGV[5]), tonumber(meta[4] or '-1')
if generation < tonumber(meta[3] or '0') or generation < claimed then return {14} end
if generation == claimed and meta[5] ~= ARGV[4] then return {14} end
if claim <= tonumber(meta[1] or '0') or claim < tonumber(meta[2] or '0') then return {14} end
local now = history()
if ARGV[2] ~= '1' and ARGV[3] ~= now then return {20} end
redis.call('HSET', KEYS[1], 'state', 'recovering', 'claim', ARGV[1], 'claim_server', ARGV[4],
  'claim_generation', ARGV[5], 'history', now) -- open compares it
if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'lost', '1') end
redis.call('HSETNX', KEYS[1], 'closed_at', string.format('%d', redis_time()))
redis.call('HSETNX', KEYS[1], 'epoch', '0')
redis.call('HSETNX', KEYS[1], 'seq', '0')
redis.call('HSETNX', KEYS[1], 'waiting', '0')
return {0}
