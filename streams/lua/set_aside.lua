-- set_aside: move an entry that cannot become a row to the dead letters, during a recovery. Its hold is kept.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 dead (stream)   5 sale (hash)
-- ARGV  1 claim of the recovery   2 stream id   3 reason
-- Returns {code, 1 if the entry was moved now, 0 if the stream no longer has it}
--   code  0 done, 14 another recovery has claimed the partition since, 18 no recovery runs
--
-- The entry leaves the stream: it becomes exactly one dead letter and no longer counts as waiting.

local code = claimed()
if code then return {code} end
if #redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2]) == 0 then return {0, 0} end
redis.call('XADD', KEYS[4], '*', unpack(entry_fields(KEYS[2], ARGV[2], {'reason', ARGV[3], 'stream', ARGV[2], 'deliveries', '0'})))
local last = progress(KEYS[2])
local left = redis.call('XACK', KEYS[2], 'fulfil', ARGV[2])
redis.call('XDEL', KEYS[2], ARGV[2])
if left > 0 or not last or entry_before(last, ARGV[2]) then -- it was pending, or not delivered yet
  redis.call('HINCRBY', KEYS[1], 'waiting', '-1')
  count_settled(KEYS[5], KEYS[3], 1)
end
return {0, 1}
