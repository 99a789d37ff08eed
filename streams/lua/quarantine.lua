-- quarantine: move a pending entry of a queue to the quarantine, for one group. It is one step: a crash neither loses
-- nor duplicates the entry. A repeated call does nothing, because the entry is no longer pending.
--
-- KEYS  1 queue (stream)   2 quarantine (stream)
-- ARGV  1 group   2 stream id   3 reason
--       4 '1': delete the entry from the queue, because it contains a secret; '0': keep it for other groups
--
-- Returns {code, id in the quarantine or '' if the entry is not pending for the group}
--   code  0 done, 17 a key has a wrong type

-- 1. Check before the first write.
for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= 'stream' then return {17} end
end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], '1')
if pending.err or not pending[1] then return {0, ''} end

-- 2. XADD first: if it fails, for example out of memory, the script ends and the entry stays pending.
local fields = entry_fields(KEYS[1], ARGV[2],
  {'group', ARGV[1], 'reason', ARGV[3], 'stream', ARGV[2], 'deliveries', string.format('%d', pending[1][4])})
local id = redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[2]) end
return {0, id}
