-- Counts one request in a sliding window, or takes one back.
--
-- KEYS[1]  hash  one subject's window: w = number of the newest window, n = requests in it, p = in the one before
-- ARGV[1]  length of the window, milliseconds
-- ARGV[2]  limit of requests per window
-- ARGV[3]  1: count the request; -1: take back a counted request that another limit has rejected
--
-- Returns the wait in milliseconds; 0: counted. A rejected request is not counted, so a client that keeps sending is
-- accepted as early as one that waits. The window slides: requests of the previous window count in proportion to the
-- part of it that lies within one length before now.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local length, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local window = math.floor(now / length)
local into = now - window * length

local kept = redis.call('HMGET', KEYS[1], 'w', 'n', 'p')
local count, before = 0, 0
if kept[1] then
  local age = window - tonumber(kept[1])
  if age <= 0 then
    count, before = tonumber(kept[2]), tonumber(kept[3])
  elseif age == 1 then
    before = tonumber(kept[2])
  end
end

if ARGV[3] == '-1' then
  count = math.max(0, count - 1)
elseif count + before * (length - into) / length + 1 <= limit then
  count = count + 1
elseif count + 1 <= limit then -- the previous window counts too much: wait until its part is small enough
  return math.max(1, math.ceil(length - (limit - count - 1) * length / before - into))
else -- this window is full: wait for the next one, until the part of this one leaves room for one
  return math.max(1, math.ceil(length - into + math.max(0, length - (limit - 1) * length / count)))
end

redis.call('HSET', KEYS[1], 'w', string.format('%.0f', window), 'n', string.format('%.0f', count), 'p',
  string.format('%.0f', before))
redis.call('PEXPIRE', KEYS[1], 2 * length)
return 0
