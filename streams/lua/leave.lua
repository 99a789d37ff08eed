-- leave: delete consumers of a group that have no pending entries: one consumer, or all that have been idle for long.
-- It is one step, because XGROUP DELCONSUMER drops the pending entries of a consumer. A consumer that is still in use
-- is created again by its next read.
--
-- KEYS  1 stream
-- ARGV  1 group   2 consumer, '' for all   3 idle time (ms) after which consumers are deleted; only with ''
--
-- Returns {number of deleted consumers}; also 0 if the stream, group or consumer does not exist

local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if consumers.err then return {0} end
local deleted = 0
for _, list in ipairs(consumers) do
  local c = {}
  for i = 1, #list, 2 do c[list[i]] = list[i + 1] end
  local ends = c['name'] == ARGV[2] or ARGV[2] == '' and c['idle'] >= tonumber(ARGV[3])
  if ends and c['pending'] == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], c['name'])
    deleted = deleted + 1
  end
end
return {deleted}
