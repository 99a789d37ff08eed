-- renew: extend a lease while its orders are being processed.
--
-- KEYS  1 deadlines (zset)
-- ARGV  1 lease (the score from take or the last renew)   2 duration of the lease (ms)   3… order ids
--
-- Returns {lease}: the new score, as a string. Orders with another score belong to another sweeper and do not change.

local old, lease = tonumber(ARGV[1]), string.format('%d', redis_time() + tonumber(ARGV[2]))
for i = 3, #ARGV do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == old then redis.call('ZADD', KEYS[1], lease, ARGV[i]) end
end
return {lease}
