-- progress: how far the consumers of a stream are, for scripts that ask which entries are settled.
--
-- entry_before reports whether a stream id comes before another. They are two numbers; a group that has read nothing may have
-- just "0".
--
-- progress returns the last id that was delivered to the group, and the id before which everything is settled: the oldest
-- pending one, else the last delivered. Without a group it returns nothing: nobody has been given anything.
--
-- An entry is undelivered, then pending, then acknowledged. Both ids belong to one instant, and so does a look at a single
-- pending entry: that is why it is scripts that ask. Read one after the other, an entry that was delivered in between would
-- be neither behind the last delivered one nor pending, and a reservation without a row would be taken for settled (P2).

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
  return last, pending and entry_before(pending[1], last) and pending[1] or last
end

