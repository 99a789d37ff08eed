-- replay: append a quarantined entry to its queue again, for every group, with its original fields.
-- The body identifies the message, so its receiver recognises a repeat.
--
-- KEYS  1 quarantine (stream)   2 queue (stream)
-- ARGV  1 id in the quarantine
--
-- Returns {code, id in the queue or '' if the quarantine has no such entry}
--   code  0 done, 17 a key has a wrong type, 18 the entry has no body, so it cannot be delivered

for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= 'stream' then return {17} end
end
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return {0, ''} end
local added = {group = true, reason = true, stream = true, deliveries = true, at = true} -- by quarantine.lua
local fields, body = {}, false
for i = 1, #entry[2], 2 do
  local name = entry[2][i]
  body = body or name == 'body'
  if not added[name] then fields[#fields + 1], fields[#fields + 2] = name, entry[2][i + 1] end
end
if not body then return {18} end
local id = redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('XDEL', KEYS[1], ARGV[1])
return {0, id}
