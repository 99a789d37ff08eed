-- since.lua: when this Redis began to keep the logs of a shard.
--
-- A log begins with a user's first event. So a client that has heard nothing yet holds a cursor without a log, and sees a
-- first event without knowing whether others came before it and were lost together with their log. They were not if this
-- Redis has kept the shard since before that cursor was given out.
--
-- KEYS[1]  string  stampede:{u<shard>}:since, Redis time (ms); without TTL, gone when Redis has lost everything
--
-- Returns that time as a text; who asks first sets it to now.
-- No "no" cases: a key of another type fails before anything is written.

local since = redis.call('GET', KEYS[1])
if not since then
  local time = redis.call('TIME')
  since = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('SET', KEYS[1], since)
end
return since
