-- lag: make XINFO GROUPS tell the truth (P7). After Redis has replayed its append-only file, entries-read of a group
-- is unknown or wrong, and so is its lag, until someone sets it again. One script, so that no read comes between.
--
-- KEYS  1 meta (hash)   2 orders (stream)
-- ARGV  1 how many undelivered entries are counted one by one at most
--
-- Returns {code, lag, pending}
--   code  0 nothing to do, 1 entries-read was set, 2 this server cannot (no XGROUP SETID ENTRIESREAD; the lag
--         returned is right all the same), 3 no stream or no group
--
-- Trimming only ever takes entries that were delivered and nobody deletes single ones, so
-- lag = entries added − entries read, and lag = entries behind the last delivered one. When those are too many to
-- count, meta.waiting − pending stands for them: both move in the same scripts as the stream.

local function fields(list)
  local map = {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end

if redis.call('EXISTS', KEYS[2]) == 0 then return {3, 0, 0} end
local stream = fields(redis.call('XINFO', 'STREAM', KEYS[2]))
local g
for _, list in ipairs(redis.call('XINFO', 'GROUPS', KEYS[2])) do
  local candidate = fields(list)
  if candidate['name'] == 'fulfil' then g = candidate end
end
if not g then return {3, 0, 0} end

-- 1. The true lag.
local last, most = g['last-delivered-id'], tonumber(ARGV[1])
local lag, known = 0, true
if last ~= stream['last-generated-id'] then
  lag = #redis.call('XRANGE', KEYS[2], '(' .. last, '+', 'COUNT', string.format('%d', most + 1))
  known = lag <= most
end
local waiting = tonumber(redis.call('HGET', KEYS[1], 'waiting') or '0')
if not known then lag = math.max(lag, waiting - g['pending']) end

-- 2. The counter that bounds the backlog, where it can be proven wrong.
if known and waiting ~= lag + g['pending'] and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'waiting', string.format('%d', lag + g['pending']))
end

-- 3. What XINFO derives its lag from.
local added = stream['entries-added']
if not added then return {2, lag, g['pending']} end
local read = math.max(0, added - lag)
if g['lag'] == lag then return {0, lag, g['pending']} end
local set = redis.pcall('XGROUP', 'SETID', KEYS[2], 'fulfil', last, 'ENTRIESREAD', string.format('%d', read))
if set.err then return {2, lag, g['pending']} end
return {1, lag, g['pending']}
