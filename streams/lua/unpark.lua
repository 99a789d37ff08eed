-- unpark: send a parked entry of the back office's stream once more, to every group. It comes again, as all entries may.
--
-- KEYS  1 parked (stream)   2 paid (stream)
-- ARGV  1 id of the parked entry
--
-- Returns {code, id in the stream or '' when nothing is parked under that id}
--   code  0 done, 17 a key has a wrong type, 18 it has no posting that could be sent

for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= 'stream' then return {17} end
end
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return {0, ''} end
local wanted, fields, bodied = {order = true, rev = true, state = true, body = true}, {}, false
for i = 1, #entry[2], 2 do
  local name = entry[2][i]
  if wanted[name] then
    fields[#fields + 1], fields[#fields + 2] = name, entry[2][i + 1]
    bodied = bodied or name == 'body'
  end
end
if not bodied then return {18} end
local id = redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('XDEL', KEYS[1], ARGV[1])
return {0, id}
