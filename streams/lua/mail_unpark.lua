-- mail_unpark: have a dead letter sent once more.
--
-- KEYS  1 dead (stream)   2 letters (stream)
-- ARGV  1 id of the dead letter
--
-- Returns {code, id in the stream or '' when there is no such dead letter}
--   code  0 done, 17 a key has a wrong type, 18 there is no letter in it that could be sent

for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= 'stream' then return {17} end
end
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return {0, ''} end
local found = {}
for i = 1, #entry[2], 2 do found[entry[2][i]] = entry[2][i + 1] end
if not found.kind or not found.letter then return {18} end
local id = redis.call('XADD', KEYS[2], '*', 'kind', found.kind, 'letter', found.letter)
redis.call('XDEL', KEYS[1], ARGV[1])
return {0, id}
