-- unsettled: find the given entries that are not settled. Trimmed entries may be among them. Writes nothing.
--
-- KEYS  1 orders (stream)
-- ARGV  stream ids
--
-- Returns {code, then the index in ARGV, from 1, of each entry that is not settled}
--   code  0 done, 17 a key has a wrong type

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {0} end
if kind ~= 'stream' then return {17} end

-- Undelivered and pending entries wait. In nearly all cases the time in the id decides this without XPENDING.
local last, bound = progress(KEYS[1])
local function instant(id) return tonumber(string.match(id, '^%d+')) end
local delivered, settled = instant(last or '0'), instant(bound or '0')
local function waits(id)
  local at = instant(id)
  if not last or at > delivered then return true end
  if at < settled then return false end
  return entry_before(last, id) or redis.call('XPENDING', KEYS[1], 'fulfil', id, id, '1')[1] ~= nil
end

local reply, n = {0}, 1
for i, id in ipairs(ARGV) do
  if waits(id) then reply[n + 1], n = i, n + 1 end
end
return reply
