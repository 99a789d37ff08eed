-- retire: delete the keys of a closed sale without holds. Sold units no longer need Redis.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 its buyers (hash)   4 its open holds (hash)   5 its watch counts (hash)
-- ARGV  1 epoch
--
-- Returns {code}
--   code  0 deleted now or before, 1 not closed yet, or units are held, or tickets are not settled,
--         13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type

local code = rejection()
if code then return {code} end
local sale = redis.call('HMGET', KEYS[2], 'closes', 'held', 'tickets', 'done')
if sale[1] then
  if redis_time() < tonumber(sale[1]) or sale[2] ~= '0' or tonumber(sale[4]) < tonumber(sale[3]) then return {1} end
end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return {0}
