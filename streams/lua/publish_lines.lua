-- too_late and publish_lines are functions for scripts that publish changes.
--
-- too_late reports whether the change of a row is older than `within` ms, or in the future. Such a row must not be
-- published: a node that was disconnected may already have sent a later cursor to its clients (F2). The script checks
-- this, not the program, because a process may pause between the check and the call.
--
-- publish_lines publishes lines as the next message of the partition and returns its number, the new end of the
-- sequence (F4).

local function too_late(changed_at, within)
  local age = redis_time() - tonumber(changed_at)
  return age < 0 or age > tonumber(within)
end

local function publish_lines(meta, channel, lines)
  local number = redis.call('HINCRBY', meta, 'published', 1)
  redis.call('PUBLISH', channel, string.format('%d %d\n', number - 1, number) .. lines)
  return number
end
