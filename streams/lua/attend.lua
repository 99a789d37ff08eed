-- attend: a worker says that it is there, and hears who else is.
--
-- KEYS  1 workers (zset)
-- ARGV  1 name   2 for how long it counts if it says nothing more (ms); 0: it leaves
--
-- Returns {names of the workers that count, in no order…}

local now = redis_time()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now))
local life = tonumber(ARGV[2])
if life > 0 then
  redis.call('ZADD', KEYS[1], string.format('%d', now + life), ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('ZRANGE', KEYS[1], '0', '-1')
