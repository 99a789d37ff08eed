-- lag: correct XINFO GROUPS (P7). After Redis has replayed its append-only file, entries-read and lag of a group are
-- unknown or wrong until they are set again. It is one script, so that no consumer reads between the steps.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)
-- ARGV  1 maximum number of undelivered or pending entries to count one by one
--
-- Returns {code, lag, pending, vanished}
--   code  0 nothing to do, 1 entries-read was set, 2 this server does not support XGROUP SETID ENTRIESREAD (the
--         returned lag is still correct), 3 no stream or no group
--   vanished  entries that were removed before they were settled (XTRIM, XDEL, XACK, XGROUP SETID by hand). Each is
--             returned once.
--
-- Only delivered entries are trimmed, so lag = entries added − entries read = entries behind the last delivered one.
-- If there are too many to count, meta.waiting − pending is used: the same scripts change it and the stream. An entry
-- that was set aside before its delivery (set_aside.lua) counts as read.
--
-- An operator may still remove entries by hand (XACK, XDEL, XGROUP SETID). Then the counters of waiting entries, in
-- total and per sale, are computed again from the entries.

local function fields(list)
  local map = {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end

if redis.call('EXISTS', KEYS[2]) == 0 then return {3, 0, 0, 0} end
local stream = fields(redis.call('XINFO', 'STREAM', KEYS[2]))
local g
for _, list in ipairs(redis.call('XINFO', 'GROUPS', KEYS[2])) do
  local candidate = fields(list)
  if candidate['name'] == 'fulfil' then g = candidate end
end
if not g then return {3, 0, 0, 0} end

-- 1. The correct lag.
local last, max_count = g['last-delivered-id'], tonumber(ARGV[1])
local lag, known, undelivered = 0, true, {}
if last ~= stream['last-generated-id'] then
  undelivered = redis.call('XRANGE', KEYS[2], '(' .. last, '+', 'COUNT', string.format('%d', max_count + 1))
  lag = #undelivered
  known = lag <= max_count
end
local waiting = tonumber(redis.call('HGET', KEYS[1], 'waiting') or '0')
if not known then lag = math.max(lag, waiting - g['pending']) end

-- 2. The counters of waiting entries, where they are provably wrong: meta.waiting, which bounds the backlog, and the
--    counters per sale, which Waiting uses to find a user's reservations. Scripts change meta.waiting together with the
--    stream, so a higher count means that another program has removed entries.
local vanished = 0
if known and redis.call('EXISTS', KEYS[1]) == 1 then
  local truth = lag + g['pending']
  vanished = math.max(0, waiting - truth)
  if waiting ~= truth then redis.call('HSET', KEYS[1], 'waiting', string.format('%d', truth)) end
  local counted = 0
  for _, n in ipairs(redis.call('HVALS', KEYS[3])) do counted = counted + tonumber(n) end
  if counted ~= truth and g['pending'] <= max_count then
    local sales, names, term = {}, {}, '^2:' .. string.rep('[^:]*:', 10) .. '(%d+):' -- the sale, see reserve.lua
    local function count(entry)
      local _, _, sale = string.find(entry[2][2] or '', term)
      if not sale then return end
      if not sales[sale] then names[#names + 1] = sale end
      sales[sale] = (sales[sale] or 0) + 1
    end
    for _, entry in ipairs(undelivered) do count(entry) end
    if g['pending'] > 0 then
      for _, p in ipairs(redis.call('XPENDING', KEYS[2], 'fulfil', '-', '+', string.format('%d', max_count))) do
        local entry = redis.call('XRANGE', KEYS[2], p[1], p[1])[1]
        if entry then count(entry) end
      end
    end
    redis.call('UNLINK', KEYS[3])
    for _, sale in ipairs(names) do redis.call('HSET', KEYS[3], sale, string.format('%d', sales[sale])) end
  end
end

-- 3. entries-read, from which XINFO derives the lag.
local added = stream['entries-added']
if not added then return {2, lag, g['pending'], vanished} end
local read = math.max(0, added - lag)
if g['lag'] == lag then return {0, lag, g['pending'], vanished} end
if known and lag == 0 then last = stream['last-generated-id'] end -- else set-aside entries hide the lag
local set = redis.pcall('XGROUP', 'SETID', KEYS[2], 'fulfil', last, 'ENTRIESREAD', string.format('%d', read))
if set.err then return {2, lag, g['pending'], vanished} end
return {1, lag, g['pending'], vanished}
