-- append.lua: append personal events to the logs of several users of one shard, and hint the nodes.
--
-- A log is a list of lines `<epoch>-<number> <order> <rev> <body>`: the epoch is the Redis time (ms) at which the log
-- began, the number counts its events from 1 without gaps. So a reader that has event n knows n+1 when it sees it, and
-- knows that events are lost when it does not. A list and not a stream: a stream begins with a block of 4 KB per user,
-- and each of its fields costs more than the bytes in it (deploy/DECISIONS.md).
--
-- KEYS[i]  list  stampede:{u<shard>}:log:<user>, one per user, all of one shard
-- ARGV[1]  channel for the hint
-- ARGV[2]  how many events a log keeps
-- ARGV[3]  how long a log is kept at least after its last event, ms; two hours longer at most
-- ARGV[4]  how many lines at the end of a log are searched for repeats, at least 1. What is repeated and not found
--          reaches the client, which knows it by its rev
-- ARGV[5]  ARGV[6]  the least order id of this hour and of the next one. When the newest event of a log is of an order of this
--          hour, then the first event of this hour has moved the log's end, and this one need not: that keeps calls few and
--          the append-only file short. Clocks of nodes may differ by less than an hour
-- ARGV[7…] per event two: index into KEYS, `<order> <rev> <body>` without line breaks
--
-- Returns how many events were appended; the others were there already, at this rev of their order or a later one.
-- Publishes one message per call that appended anything: a line `<user> <cursor> <order> <rev> <body>` per event.
-- No "no" cases: a key of another type fails the first read, before anything is written.

local HOUR = 3600000 -- ms

local channel, keep, ttl, look, least, beyond = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
local call, find, match, sub = redis.call, string.find, string.match, string.sub

-- 1. Read the end of every log: its epoch with the dash, its last number, of which order its newest line is, and whether
--    that is of this hour. Patterns would take longer than all that is cut out here.
local time = call('TIME')
local start = string.format('%.0f-', time[1] * 1000 + math.floor(time[2] / 1000))
local recent, heads, lasts, newest, moved = {}, {}, {}, {}, {}
for i, key in ipairs(KEYS) do
  local line
  if look == 1 then
    line = call('LINDEX', key, -1)
    recent[i] = { line or nil }
  else
    recent[i] = call('LRANGE', key, -look, -1)
    line = recent[i][#recent[i]]
  end
  heads[i], lasts[i] = start, 0
  if line then
    local dash = find(line, '-', 1, true)
    local gap = find(line, ' ', dash, true)
    local order = sub(line, gap + 1, find(line, ' ', gap + 1, true) - 1)
    heads[i], lasts[i], newest[i] = sub(line, 1, dash), tonumber(sub(line, dash + 1, gap - 1)), order
    moved[i] = #order == #least and order >= least and order < beyond
  end
end

-- Whether one of the lines is of this order at this rev or a later one. Most are not, which a search for the text
-- tells faster than taking each apart.
local function told(lines, order, rev)
  local mark = ' ' .. order .. ' '
  for _, line in ipairs(lines or {}) do
    if find(line, mark, 1, true) then
      local of, at = match(line, '^%d+%-%d+ (%d+) (%d+) ')
      if of == order and tonumber(at) >= rev then return true end
    end
  end
  return false
end

-- 2. Number what is new. The texts are long, and Lua pays for each new one: the parts of a hint are joined once.
local fresh, hints, n = {}, {}, 0
local user = #match(KEYS[1], '^.*:') + 1 -- where it begins in a key
for at = 7, #ARGV, 2 do
  local i, event = tonumber(ARGV[at]), ARGV[at + 1]
  local order = sub(event, 1, find(event, ' ', 1, true) - 1)
  local repeated = false
  if look > 1 or order == newest[i] then
    local rev = tonumber(match(event, '^%d+ (%d+) '))
    repeated = told(recent[i], order, rev) or told(fresh[i], order, rev)
  end
  if not repeated then
    local last = lasts[i] + 1
    local line = heads[i] .. last .. ' ' .. event
    lasts[i], newest[i] = last, order
    if fresh[i] then fresh[i][#fresh[i] + 1] = line else fresh[i] = { line } end
    hints[n + 1], hints[n + 2], hints[n + 3], hints[n + 4] = sub(KEYS[i], user), ' ', line, '\n'
    n = n + 4
  end
end

-- 3. Append it, log by log.
for i, lines in pairs(fresh) do
  local key = KEYS[i]
  local length = call('RPUSH', key, unpack(lines))
  if length > keep then call('LTRIM', key, -keep, -1) end
  if not moved[i] or length == #lines then call('PEXPIRE', key, ttl + 2 * HOUR) end
end

-- 4. Say that there is something to read.
if n > 0 then
  hints[n] = nil -- no line break behind the last
  call('PUBLISH', channel, table.concat(hints))
end
return n / 4
