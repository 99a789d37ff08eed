-- tell: two functions for scripts that publish what has changed.
--
-- too_late reports whether Redis time is so far behind the instant given, or before it, that a change stamped since then may
-- not be published any more: whoever was away meanwhile might have been shown a later instant (F2). It is asked here and not
-- in the program, because a process may stand still between asking and calling.
--
-- tell publishes lines under the next number of the partition, which is the end of the chain from then on (F4), and answers
-- the number.

local function too_late(since, within)
  local age = redis_time() - tonumber(since)
  return age < 0 or age > tonumber(within)
end

local function tell(meta, channel, lines)
  local number = redis.call('HINCRBY', meta, 'published', 1)
  redis.call('PUBLISH', channel, string.format('%d %d\n', number - 1, number) .. lines)
  return number
end
