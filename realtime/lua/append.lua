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
-- ARGV[3]  how long a log is kept after its last event, ms
-- ARGV[4…] per event five: index into KEYS, user id, order id, rev, body (JSON, one line)
--
-- Returns one string per event: its cursor `<epoch>-<number>`, or '' when the log has this order at this rev or a later
-- one already (an event is told at least once; repeats end here).
-- Publishes one message per call that appended anything: a line `user cursor body` per appended event.
-- No "no" cases: a key of another type fails the first read, before anything is written.

-- How far back a log is searched for repeats. What is repeated later than that reaches the client, which knows
-- it by its rev.
local LOOK_BACK = 16

local channel, keep, ttl = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local call, find, match = redis.call, string.find, string.match

-- 1. Read the end of every log: its epoch and its last number.
local time = call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local logs = {}
for i, key in ipairs(KEYS) do
  local recent = call('LRANGE', key, -LOOK_BACK, -1)
  local log = { epoch = now, last = 0, recent = recent, lines = {} }
  if #recent > 0 then
    local epoch, number = match(recent[#recent], '^(%d+)-(%d+) ')
    log.epoch, log.last = epoch, tonumber(number)
  end
  logs[i] = log
end

-- Whether one of the lines is of this order at this rev or a later one. Most are not, which a search for the text
-- tells faster than taking each apart.
local function told(lines, order, rev)
  local mark = ' ' .. order .. ' '
  for _, line in ipairs(lines) do
    if find(line, mark, 1, true) then
      local of, at = match(line, '^%d+%-%d+ (%d+) (%d+) ')
      if of == order and tonumber(at) >= rev then return true end
    end
  end
  return false
end

-- 2. Number what is new.
local ids, hints = {}, {}
for at = 4, #ARGV, 5 do
  local log, order, rev, body = logs[tonumber(ARGV[at])], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if told(log.recent, order, tonumber(rev)) or told(log.lines, order, tonumber(rev)) then
    ids[#ids + 1] = ''
  else
    log.last = log.last + 1
    local id = log.epoch .. '-' .. string.format('%.0f', log.last)
    log.lines[#log.lines + 1] = id .. ' ' .. order .. ' ' .. rev .. ' ' .. body
    ids[#ids + 1] = id
    hints[#hints + 1] = ARGV[at + 1] .. ' ' .. id .. ' ' .. body
  end
end

-- 3. Append it, log by log.
for i, key in ipairs(KEYS) do
  local log = logs[i]
  if #log.lines > 0 then
    local length = call('RPUSH', key, unpack(log.lines))
    if length > keep then call('LTRIM', key, -keep, -1) end
    call('PEXPIRE', key, ttl)
  end
end

-- 4. Say that there is something to read.
if #hints > 0 then
  call('PUBLISH', channel, table.concat(hints, '\n'))
end
return ids
