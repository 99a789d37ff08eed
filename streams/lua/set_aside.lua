-- set_aside: remove an entry that cannot become a row from the stream, during a recovery. Its hold is kept.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 sale (hash)
-- ARGV  1 claim of the recovery   2 stream id
-- Returns {code}
--   code  0 done, now or before, 14 another recovery has claimed the partition since, 18 no recovery runs
--
-- The entry is a problem in the database before (shop.Problem). It no longer counts as waiting.

local code = claimed()
if code then return {code} end
if #redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2]) == 0 then return {0} end
local last = progress(KEYS[2])
local left = redis.call('XACK', KEYS[2], 'fulfil', ARGV[2])
redis.call('XDEL', KEYS[2], ARGV[2])
if left > 0 or not last or entry_before(last, ARGV[2]) then -- it was pending, or not delivered yet
  redis.call('HINCRBY', KEYS[1], 'waiting', '-1')
  count_settled(KEYS[4], KEYS[3], 1)
end
return {0}
