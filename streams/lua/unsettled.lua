-- unsettled: which of some entries are not settled, and what is in them. Writes nothing.
--
-- KEYS  1 orders (stream)
-- ARGV  stream ids
--
-- Returns {code, then two per entry that is not settled: its number in ARGV from 1, its fields}
--   code  0 done, 17 a key has a wrong type

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {0} end
if kind ~= 'stream' then return {17} end

-- What was not delivered waits, and what is pending. An entry that is not there any more was settled and trimmed.
local last, bound = progress(KEYS[1])
local function waits(id)
  if not last or entry_before(last, id) then return true end
  return not entry_before(id, bound) and redis.call('XPENDING', KEYS[1], 'fulfil', id, id, '1')[1] ~= nil
end
local reply, n = {0}, 1
for i, id in ipairs(ARGV) do
  local entry = waits(id) and redis.call('XRANGE', KEYS[1], id, id)[1]
  if entry then
    reply[n + 1], reply[n + 2], n = i, entry[2], n + 2
  end
end
return reply
