-- look: what a partition is now, in one instant.
--
-- KEYS  1 meta (hash)   2 orders (stream)
--
-- Returns {state, epoch, seq, began, confirmed, history, followed, stream, then of the database that was recorded: server,
-- generation, beat, lossless, replaced; then of a recovery: lost, closed_at, claim, claim_server, claim_generation}. All are
-- texts; '' means absent.
--   began      'epoch:seq', with which seq the last epoch began that was begun by a recovery
--   confirmed  the history of the server when somebody looked last and found nothing missing (close, confirm)
--   history    that of the server now; followed: the one that it continued as a replica that was promoted
--   stream     1 when there is one

local meta = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'seq', 'began', 'history')
for i = 1, 5 do meta[i] = meta[i] or '' end
local db = redis.call('HMGET', KEYS[1], 'db_server', 'db_generation', 'db_beat', 'db_lossless', 'db_replaced', 'lost',
  'closed_at', 'claim', 'claim_server', 'claim_generation')
local id, info = history()
-- A promoted replica names the id of the server that it followed in master_replid2; other servers have only zeros there.
local followed = string.match(info, 'master_replid2:(%x+)') or ''
if string.find(followed, '^0*$') then followed = '' end
meta[6], meta[7], meta[8] = id, followed, redis.call('EXISTS', KEYS[2])
for i = 1, 10 do meta[8 + i] = db[i] or '' end
return meta
