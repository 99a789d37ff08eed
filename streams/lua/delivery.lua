-- delivery: read the progress of a partition's consumers at one instant, and whether it is reliable. Writes nothing.
--
-- KEYS  1 meta (hash)   2 orders (stream)
--
-- Returns {code, epoch, newest, open, delivered}
--   code       0 done, 13 recovering, 16 partition absent, 17 a key has a wrong type,
--              20 the server began another history that is not confirmed yet
--   newest     id of the last entry ever added
--   open       id of the oldest pending entry, '' if no entry is pending
--   delivered  id of the last delivered entry, '' if there is no group

local types = {'hash', 'stream'}
for i = 1, 2 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'history')
if not meta[2] or redis.call('EXISTS', KEYS[2]) == 0 then return {16} end
if meta[2] ~= 'open' then return {13} end
if (meta[3] or '') ~= history() then return {20} end

local function fields(list)
  local map = {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end
local newest, delivered, open = fields(redis.call('XINFO', 'STREAM', KEYS[2]))['last-generated-id'], '', ''
for _, list in ipairs(redis.call('XINFO', 'GROUPS', KEYS[2])) do
  local g = fields(list)
  if g['name'] == 'fulfil' then delivered = g['last-delivered-id'] end
end
if delivered ~= '' then
  local pending = redis.call('XPENDING', KEYS[2], 'fulfil', '-', '+', '1')[1]
  open = pending and pending[1] or ''
end
return {0, meta[1] or '', newest, open, delivered}
