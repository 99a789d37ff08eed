-- set_stuck: set or clear the reason why a sale must not sell before an operator has settled its orders.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash, not used)   4 its open holds (hash, not used)
-- ARGV  1 claim of the recovery   2 reason, '': the sale may sell
--
-- Returns {code}: 0 done, 12 sale absent, 14 another recovery has claimed the partition since, 18 no recovery runs

local code = claimed()
if code then return {code} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {12} end
if ARGV[2] == '' then redis.call('HDEL', KEYS[2], 'stuck') else redis.call('HSET', KEYS[2], 'stuck', ARGV[2]) end
return {0}
