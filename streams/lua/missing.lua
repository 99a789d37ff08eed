-- missing: find the accepted orders that are missing in the partition, at one instant. Writes nothing.
--
-- KEYS  1 orders (stream), then two per order: sale (hash), buyers of the sale (hash)
-- ARGV  two per order: user id, order id
--
-- Returns {code, newest, fields, then per order: 0 present, 1 missing, 2 its sale is absent}
--   code    0 done, 17 a key has a wrong type
--   newest  id of the last entry of the stream, '' if it is empty
--   fields  its fields and their values
--
-- An accepted order stays in its buyer's record while its sale exists. One script reads both: a sale that is retired
-- between two reads would seem to have lost its buyers, and the partition would be recovered without need.

local function is(key, want)
  local t = redis.call('TYPE', key).ok
  return t == 'none' or t == want
end
if not is(KEYS[1], 'stream') then return {17} end
for i = 2, #KEYS do
  if not is(KEYS[i], 'hash') then return {17} end
end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', '1')[1]
local reply = {0, last and last[1] or '', last and last[2] or {}}
for i = 1, #ARGV / 2 do
  local found = 0
  if redis.call('HEXISTS', KEYS[2 * i], 'armed') == 0 then
    found = 2
  else
    local record = redis.call('HGET', KEYS[2 * i + 1], ARGV[2 * i - 1]) or ''
    if not string.find(record, ARGV[2 * i] .. ':', 1, true) then found = 1 end
  end
  reply[3 + i] = found
end
return reply
