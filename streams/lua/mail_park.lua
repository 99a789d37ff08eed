-- mail_park: move a letter that cannot be sent to the dead ones. In one step, so that a crash neither loses nor doubles it,
-- and the link in it stands in one place only.
--
-- KEYS  1 letters (stream)   2 dead (stream)
-- ARGV  1 group   2 stream id   3 reason
--
-- Returns {code, id of the dead letter or '' when the group has nothing of it pending}
--   code  0 done, 17 a key has a wrong type

-- 1. Look before writing.
for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= 'stream' then return {17} end
end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], '1')
if pending.err or not pending[1] then return {0, ''} end

-- 2. Kept before acknowledged, acknowledged before deleted.
local fields = letter(KEYS[1], ARGV[2],
  {'reason', ARGV[3], 'stream', ARGV[2], 'deliveries', string.format('%d', pending[1][4])})
local id = redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return {0, id}
