-- append.lua: append personal events to the logs of several users of one shard, and hint the nodes.
--
-- A log is a stream with ids <epoch>-<number>: the epoch is the Redis time (ms) at which the log began, the number
-- counts its events from 1 without gaps. So a reader that has event n knows n+1 when it sees it, and
-- knows that events are lost when it does not.
--
-- KEYS[i]  stream  stampede:{u<shard>}:log:<user>, one per user, all of one shard
-- ARGV[1]  channel for the hint
-- ARGV[2]  how many events a log keeps
-- ARGV[3]  how long a log is kept after its last event, ms
-- ARGV[4…] per event five: index into KEYS, user id, order id, rev, body (JSON, one line)
--
-- Stream fields: order, rev, body.
-- Returns one string per event: its id, or '' when the log has this order at this rev or a later one already
-- (an event is told at least once; repeats end here).
-- Publishes one message per call that appended anything: a line `user id body` per appended event.
-- No "no" cases: a key of another type fails the first read, before anything is written.

-- How far back a log is searched for repeats. What is repeated later than that reaches the client, which knows
-- it by its rev.
local LOOK_BACK = 16

local channel, keep, ttl = ARGV[1], ARGV[2], ARGV[3]

-- 1. Read the end of every log: its epoch, its last number, and the revs it has seen.
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local logs = {}
for i, key in ipairs(KEYS) do
  local log = { epoch = now, last = 0, revs = {} }
  for at, entry in ipairs(redis.call('XREVRANGE', key, '+', '-', 'COUNT', LOOK_BACK)) do
    if at == 1 then
      local epoch, number = string.match(entry[1], '^(%d+)-(%d+)$')
      log.epoch, log.last = epoch, tonumber(number)
    end
    local fields = entry[2]
    local order, rev = fields[2], tonumber(fields[4])
    if rev > (log.revs[order] or -1) then
      log.revs[order] = rev
    end
  end
  logs[i] = log
end

-- 2. Append what is new.
local ids, hints = {}, {}
for at = 4, #ARGV, 5 do
  local i, user, order, rev, body = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local log = logs[i]
  if (log.revs[order] or -1) >= tonumber(rev) then
    ids[#ids + 1] = ''
  else
    log.last = log.last + 1
    log.revs[order] = tonumber(rev)
    local id = log.epoch .. '-' .. string.format('%.0f', log.last)
    redis.call('XADD', KEYS[i], 'MAXLEN', keep, id, 'order', order, 'rev', rev, 'body', body)
    redis.call('PEXPIRE', KEYS[i], ttl)
    ids[#ids + 1] = id
    hints[#hints + 1] = user .. ' ' .. id .. ' ' .. body
  end
end

-- 3. Say that there is something to read.
if #hints > 0 then
  redis.call('PUBLISH', channel, table.concat(hints, '\n'))
end
return ids
