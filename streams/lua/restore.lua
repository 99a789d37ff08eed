-- restore: replace a sale with the state from the database, while its partition is closed for a recovery. Many buyers
-- need several calls. The sale sells only after the last call has armed it.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash)   4 its open holds (hash)
-- ARGV  1 claim of the recovery
--       2 part: 'sale' field, value pairs of the sale hash; all existing keys of the sale are deleted
--               'buyers' user, field pairs   'open' order, field pairs   'arm' cooldown (ms)
--       3… the values of the part
--
-- Returns {code}: 0 done, 12 sale absent (its first part is missing), 14 another recovery has claimed the partition
--   since, 18 no recovery runs

local code = claimed()
if code then return {code} end
local part = ARGV[2]
if part == 'sale' then
  redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
  redis.call('HSET', KEYS[2], unpack(ARGV, 3))
  return {0}
end
if redis.call('EXISTS', KEYS[2]) == 0 then return {12} end
if part == 'buyers' then
  redis.call('HSET', KEYS[3], unpack(ARGV, 3))
elseif part == 'open' then
  redis.call('HSET', KEYS[4], unpack(ARGV, 3))
else
  -- Flags that nodes set before the recovery must end before the first sale (I9).
  redis.call('HSET', KEYS[2], 'armed', '1', 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[3])))
end
return {0}
