-- restore: replace a sale with what the database says, while its partition is closed for a recovery. Many buyers
-- come in several calls; the sale sells only when the last of them has armed it.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 sale buyers (hash)   4 sale open (hash)
-- ARGV  1 claim of the recovery
--       2 part: 'sale' field, value pairs of the sale hash; all that was there is dropped
--               'buyers' user, field pairs   'open' order, field pairs   'arm' rest (ms)
--       3… what goes with the part
--
-- Returns {code}: 0 done, 12 sale absent (its first part is missing), 14 another recovery has claimed the partition since,
--   18 no recovery runs

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
  -- Flags that nodes raised before the recovery must have ended before anything is sold (I9).
  redis.call('HSET', KEYS[2], 'armed', '1', 'rest_until', string.format('%d', redis_time() + tonumber(ARGV[3])))
end
return {0}
