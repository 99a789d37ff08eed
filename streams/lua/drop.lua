-- drop: remove finished orders from the delay queue, if this lease still holds them.
--
-- KEYS  1 deadlines (zset)
-- ARGV  1 lease (the score from take or renew)   2… order ids
--
-- Returns {number of removed orders}

local lease, removed = tonumber(ARGV[1]), 0
for i = 2, #ARGV do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == lease then removed = removed + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return {removed}
