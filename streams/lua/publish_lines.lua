-- too_late and publish_lines are functions for scripts that publish changes.
--
-- too_late reports whether the given instant is too old, or in the future. A row touched since then must not be
-- published: a node that was disconnected may already have shown a later instant (F2). The script checks this, not the
-- program, because a process may pause between the check and the call.
--
-- publish_lines publishes lines as the next message of the partition and returns its number, the new end of the
-- sequence (F4).

local function too_late(since, within)
  local age = redis_time() - tonumber(since)
  return age < 0 or age > tonumber(within)
end

local function publish_lines(meta, channel, lines)
  local number = redis.call('HINCRBY', meta, 'published', 1)
  redis.call('PUBLISH', channel, string.format('%d %d\n', number - 1, number) .. lines)
  return number
end
