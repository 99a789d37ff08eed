-- numbers: read the counters of a sale and their validity at one instant. Writes nothing.
--
-- KEYS  1 meta (hash)   2 sale (hash)   3 orders (stream)
-- ARGV  fields of the sale
--
-- Returns {code, epoch, state, newest, then the value of each field}: strings, '' if absent
--   code    0 done, 17 a key has a wrong type
--   newest  id of the last entry of the stream; a reservation that is not in the counters has a later entry
--
-- It is one script: if a cluster slot moved between two reads, their order could change.

local types = {'hash', 'hash', 'stream'}
for i = 1, 3 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state')
local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', '1')[1]
local reply = {0, meta[1] or '', meta[2] or '', last and last[1] or ''}
local values = redis.call('HMGET', KEYS[2], unpack(ARGV))
for i = 1, #ARGV do reply[4 + i] = values[i] or '' end
return reply
