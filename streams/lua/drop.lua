-- drop: remove orders that are finished with the delay queue, if they are still under this lease.
--
-- KEYS  1 deadlines (zset)
-- ARGV  1 lease (the score from take or renew)   2… order ids
--
-- Returns {how many were removed}

local lease, removed = tonumber(ARGV[1]), 0
for i = 2, #ARGV do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == lease then removed = removed + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return {removed}
