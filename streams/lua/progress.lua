-- progress: the progress of a stream's consumers. script.go puts it in front of the scripts that check for settled
-- entries.
--
-- entry_before reports whether a stream id precedes another. An id has two numbers. A group that has read nothing may
-- have only "0".
--
-- progress returns the last id delivered to the group, and the id before which all entries are settled: the oldest
-- pending one, else the last delivered one. Without a group it returns nothing: no entry was delivered.
--
-- An entry is undelivered, then pending, then acknowledged. Callers compare an entry with both ids and look it up in
-- XPENDING. The three reads run in one script: between separate reads, an entry could be delivered, and be neither after
-- the last delivered id nor pending. A reservation without a row would then seem settled (P2).

local function entry_before(a, b)
  local ams, aseq = string.match(a, '^(%d+)%-?(%d*)$')
  local bms, bseq = string.match(b, '^(%d+)%-?(%d*)$')
  ams, bms = tonumber(ams), tonumber(bms)
  if ams ~= bms then return ams < bms end
  return (tonumber(aseq) or 0) < (tonumber(bseq) or 0)
end

local function progress(orders)
  local last
  for _, list in ipairs(redis.call('XINFO', 'GROUPS', orders)) do
    local g = {}
    for i = 1, #list, 2 do g[list[i]] = list[i + 1] end
    if g['name'] == 'fulfil' then last = g['last-delivered-id'] end
  end
  if not last then return end
  local pending = redis.call('XPENDING', orders, 'fulfil', '-', '+', '1')[1]
  -- After XGROUP SETID (see lag.lua), a pending entry may follow the last delivered id: the smaller id counts.
  return last, pending and entry_before(pending[1], last) and pending[1] or last
end

