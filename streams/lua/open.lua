-- open: end a recovery. Every entry of the stream already has its row or its dead letter.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)   5 old orders (stream)
-- ARGV  1 claim: the epoch that begins   2 seq of the partition, with which the epoch continues
--       3 rebuilt: 1 if the sales were restored from rows; then a new stream begins
--       4 retention of the old stream (ms)
--       5 server   6 generation   7 beat of the database (shop.DatabaseHistory)
--       8 changes of the partition, with which the number continues
--
-- Returns {code}: 0 open, 1 done before, 14 another recovery has claimed the partition since, 18 no recovery runs,
--   20 the server began another history after close: data that was read or restored may be missing, so start over

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'history', 'db_server', 'db_replaced')
if meta[2] == 'open' and meta[1] == ARGV[1] then return {1} end
local code = claimed()
if code then return {code} end
if meta[3] ~= history() then return {20} end
if ARGV[3] == '1' then
  if redis.call('EXISTS', KEYS[2]) == 1 then
    redis.call('RENAME', KEYS[2], KEYS[5])
    redis.call('PEXPIRE', KEYS[5], ARGV[4])
  end
  redis.call('UNLINK', KEYS[3])
  redis.call('XGROUP', 'CREATE', KEYS[2], 'fulfil', '0', 'MKSTREAM')
  redis.call('HSET', KEYS[1], 'waiting', '0')
end
redis.call('UNLINK', KEYS[4])

-- The server that was in use before counts as replaced. The server now in use does not.
local replaced = {}
for server in string.gmatch((meta[5] or '') .. ' ' .. (meta[4] or ''), '%x+') do
  if server ~= ARGV[5] then replaced[#replaced + 1] = server end
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'seq', ARGV[2], 'changes', ARGV[8],
  'began', ARGV[1] .. ':' .. ARGV[2], 'state', 'open',
  'db_server', ARGV[5], 'db_generation', ARGV[6], 'db_beat', ARGV[7],
  'db_replaced', table.concat(replaced, ' '))
redis.call('HDEL', KEYS[1], 'claim', 'claim_server', 'claim_generation', 'lost', 'closed_at')
return {0}
