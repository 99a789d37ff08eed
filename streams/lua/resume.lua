-- resume: end a rebuild. Every entry of the old stream has its row by now, so the stream begins anew. What was rebuilt
-- belongs to the history of this server.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)
-- ARGV  1 epoch   2 seq
--
-- Returns {code}: 0 done, 1 it was done before (open at this very epoch), 14 a rebuild for a later epoch is under way,
--   18 partition not rebuilding, 20 the server began another history since the pause: what was restored may be missing, so
--   start over

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'building', 'history')
if meta[2] == 'open' and meta[1] == ARGV[1] then return {1} end
if meta[2] ~= 'rebuilding' then return {18} end
if tonumber(meta[3] or '0') > tonumber(ARGV[1]) then return {14} end
if meta[4] ~= history() then return {20} end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
redis.call('XGROUP', 'CREATE', KEYS[2], 'fulfil', '0', 'MKSTREAM')
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'seq', ARGV[2], 'began', ARGV[1] .. ':' .. ARGV[2], 'state', 'open',
  'waiting', '0')
return {0}
