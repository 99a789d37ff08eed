-- dead_letter: move an entry that failed permanently to the dead letters. The row of its order, in the state refused, is
-- already written.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)   5 dead (stream)
--       6 sale (hash); only when the entry names a sale
-- ARGV  1 epoch   2 stream id   3 reason   4 deliveries (failures of this entry itself)
--
-- Returns {code, id of the dead letter or '' if the entry was acknowledged before}
--   code  0 done, 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type

-- 1. Check before the first write.
local code = rejection({[2] = 'stream', [5] = 'stream'})
if code then return {code} end

-- 2. Acknowledge first: only the call that acknowledges the entry writes the dead letter (I4).
local fields = entry_fields(KEYS[2], ARGV[2], {'reason', ARGV[3], 'stream', ARGV[2], 'deliveries', ARGV[4]})
if redis.call('XACK', KEYS[2], 'fulfil', ARGV[2]) == 0 then return {0, ''} end
local id = redis.call('XADD', KEYS[5], '*', unpack(fields))
redis.call('HDEL', KEYS[4], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'waiting', '-1')

-- 3. Advance the places of later entries.
if KEYS[6] then count_settled(KEYS[6], KEYS[3], 1) end
return {0, id}
