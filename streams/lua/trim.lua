-- trim: delete entries that are delivered, settled and older than the retention. Younger entries are evidence for a
-- recovery of the database. Beyond the length bound, the oldest settled entries are deleted earlier.
--
-- KEYS  1 orders (stream)   2 meta (hash)
-- ARGV  1 retention (ms)   2 length bound (entries)   3 maximum number of entries deleted beyond the bound in this call
--
-- Returns {trimmed, left}. Nothing is trimmed while the partition is not open.

-- 1. Keep the oldest pending entry, the last delivered one and all later ones: lag and pending stay correct (P7).
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HGET', KEYS[2], 'state') ~= 'open' then return {0, 0} end
local _, bound = progress(KEYS[1])
local length = redis.call('XLEN', KEYS[1])
if not bound then return {0, length} end

-- 2. By age.
local age = string.format('%d', math.max(0, redis_time() - tonumber(ARGV[1]))) .. '-0'
local trimmed = redis.call('XTRIM', KEYS[1], 'MINID', entry_before(age, bound) and age or bound)

-- 3. By length.
local over = math.min(length - trimmed - tonumber(ARGV[2]), tonumber(ARGV[3]))
if over > 0 then
  local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', string.format('%d', over + 1))
  local cut = oldest[over + 1] and oldest[over + 1][1] or bound
  trimmed = trimmed + redis.call('XTRIM', KEYS[1], 'MINID', entry_before(cut, bound) and cut or bound)
end
return {trimmed, length - trimmed}
