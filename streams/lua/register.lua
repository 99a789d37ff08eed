-- register: register a worker, and list the registered workers.
--
-- KEYS  1 workers (zset)
-- ARGV  1 name   2 lifetime of the registration (ms); 0: remove it
--
-- Returns {names of the registered workers, unordered…}

local now = redis_time()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now))
local life = tonumber(ARGV[2])
if life > 0 then
  redis.call('ZADD', KEYS[1], string.format('%d', now + life), ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('ZRANGE', KEYS[1], '0', '-1')
