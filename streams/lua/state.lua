-- state: read the state of a partition at one instant.
--
-- KEYS  1 meta (hash)   2 orders (stream)
--
-- Returns {state, epoch, seq, began, confirmed, history, followed, stream, then of the recorded database: server,
-- generation, beat, replaced; then of a recovery: lost, closed_at, claim, claim_server, claim_generation;
-- then changes, see rejection.lua, and the id of the shop}.
-- All are strings; '' means absent.
--   began      'epoch:seq' of the last epoch that a recovery began, with its first seq
--   confirmed  the history of the server in which the last check found nothing missing (close, confirm)
--   history    the current history of the server
--   followed   the history that a promoted replica continued
--   stream     1 if it exists

local meta = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'seq', 'began', 'history')
for i = 1, 5 do meta[i] = meta[i] or '' end
local db = redis.call('HMGET', KEYS[1], 'db_server', 'db_generation', 'db_beat', 'db_replaced', 'lost',
  'closed_at', 'claim', 'claim_server', 'claim_generation', 'changes', 'shop')
local id, info = history()
-- A promoted replica has the id of its former primary in master_replid2. On other servers it is all zeros.
local followed = string.match(info, 'master_replid2:(%x+)') or ''
if string.find(followed, '^0*$') then followed = '' end
meta[6], meta[7], meta[8] = id, followed, redis.call('EXISTS', KEYS[2])
for i = 1, 11 do meta[8 + i] = db[i] or '' end
return meta
