-- close: close a partition for a recovery. Until open.lua, no script reserves, holds, returns, settles or trims in
-- it, and its keys stay valid. An absent partition is created, so that State finds an interrupted recovery.
--
-- KEYS  1 meta (hash)
-- ARGV  1 claim: the epoch that this recovery will begin
--       2 lost: 1 if Redis has lost writes; the sales are then restored from rows. The flag stays set until open.
--       3 the history in which no order was missing; unused if Redis has lost writes
--       4 server   5 generation of the database that the recovery uses   6 id of the shop, which is stored
--
-- Returns {code}: 0 closed,
--   14 the partition already has this epoch or a later one; or another recovery has a later claim, or has claimed it on
--      another server of the same generation; or a later generation is recorded,
--   17 the key has a wrong type, 20 the server has begun another history since: data may be missing, so start over,
--   22 the partition belongs to another shop
--
-- Of two concurrent recoveries, the one with the later claim continues. Epochs are unique: the database issues each
-- once.

local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'none' and t ~= 'hash' then return {17} end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'claim', 'db_generation', 'claim_generation', 'claim_server', 'shop')
if meta[6] and meta[6] ~= ARGV[6] then return {22} end
local claim, generation, claimed = tonumber(ARGV[1]), tonumber(ARGV[5]), tonumber(meta[4] or '-1')
if generation < tonumber(meta[3] or '0') or generation < claimed then return {14} end
if generation == claimed and meta[5] ~= ARGV[4] then return {14} end
if claim <= tonumber(meta[1] or '0') or claim < tonumber(meta[2] or '0') then return {14} end
local now = history()
if ARGV[2] ~= '1' and ARGV[3] ~= now then return {20} end
redis.call('HSET', KEYS[1], 'state', 'recovering', 'claim', ARGV[1], 'claim_server', ARGV[4],
  'claim_generation', ARGV[5], 'shop', ARGV[6], 'history', now) -- open compares it
if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'lost', '1') end
redis.call('HSETNX', KEYS[1], 'closed_at', string.format('%d', redis_time()))
redis.call('HSETNX', KEYS[1], 'epoch', '0')
redis.call('HSETNX', KEYS[1], 'seq', '0')
redis.call('HSETNX', KEYS[1], 'waiting', '0')
return {0}
