-- finish: complete a batch with committed rows in one step: publish the message to the nodes, add the deadlines, and
-- acknowledge the entries. `done` and `waiting` change only by the count that XACK returns (I4). An entry that is finished
-- twice, or by two consumers, therefore counts once.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)   5 deadlines (zset)
--       then one per sale of the batch: sale (hash)
-- ARGV  1 epoch
--       2 Redis time read before the transaction that touched the rows began, ms   3 maximum age of that time, ms
--       4 channel   5 the changes, one per line (shop.Message), or ''   6 number of deadlines
--       then two per deadline: instant (ms), order; then two per entry: stream id, index of its sale in KEYS
--
-- Returns {code, number of entries acknowledged now}
--   code  0 done, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--         21 touched too long ago
--
-- The first write is a command that Redis rejects if its memory is full. After it, Redis rejects no write of the
-- script.

-- 1. Check before the first write.
local code = rejection({[2] = 'stream', [5] = 'zset'})
if code then return {code} end
if ARGV[5] ~= '' and too_late(ARGV[2], ARGV[3]) then return {21} end
local counted = redis.call('EXISTS', KEYS[4]) == 1
local first = 7 + 2 * tonumber(ARGV[6]) -- index of the first entry

-- 2. Publish, and add the deadlines. An existing deadline keeps its score, which may be a sweeper's lease.
if ARGV[5] ~= '' then publish_lines(KEYS[1], ARGV[4], ARGV[5]) end
if first > 7 then redis.call('ZADD', KEYS[5], 'NX', unpack(ARGV, 7, first - 1)) end

-- 3. Acknowledge per sale. The number of entries that were still pending is the number of newly settled tickets.
local entries, done, total = {}, {}, 0
for i = first, #ARGV, 2 do
  local id, sale = ARGV[i], tonumber(ARGV[i + 1])
  local ids = entries[sale]
  if ids then
    ids[#ids + 1] = id
  else
    entries[sale] = {id}
  end
end
for sale, ids in pairs(entries) do
  done[sale] = redis.call('XACK', KEYS[2], 'fulfil', unpack(ids))
  total = total + done[sale]
  if counted then redis.call('HDEL', KEYS[4], unpack(ids)) end
end

-- 4. Advance the places of later entries.
for sale, n in pairs(done) do
  if n > 0 then count_settled(KEYS[sale], KEYS[3], n) end
end
if total > 0 then redis.call('HINCRBY', KEYS[1], 'waiting', string.format('%d', -total)) end
return {0, total}
