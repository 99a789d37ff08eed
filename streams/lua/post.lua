-- post: append postings to a stream and raise its mark in the same step, so that both are lost or kept together.
-- Without postings it only checks the mark.
--
-- KEYS  1 stream   2 mark (hash): history of the server, at
-- ARGV  1 the highest mark in the database   then four per posting: order, rev, state, body
--
-- Returns {code, at, …}
--   code  0 done; then the groups of the stream if there were no postings
--         17 a key has a wrong type
--         20 nothing was appended, entries may be missing: the server has another history, or the mark is missing or
--         behind; then the history of the server and its time, ms
--   at    the mark, ms; 0: none. It grows with each call that appends, even if the clock does not.

local types = {'stream', 'hash'}
for i = 1, 2 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local mark, id = redis.call('HMGET', KEYS[2], 'history', 'at'), history()
local at = tonumber(mark[2] or '0')
if at == 0 or mark[1] ~= id or at < tonumber(ARGV[1]) then return {20, at, id, redis_time()} end

if #ARGV == 1 then
  local names, groups = {}, redis.pcall('XINFO', 'GROUPS', KEYS[1])
  if groups.err then groups = {} end -- there is no stream
  for i, group in ipairs(groups) do names[i] = group[2] end
  return {0, at, names}
end
for i = 2, #ARGV, 4 do
  redis.call('XADD', KEYS[1], '*', 'order', ARGV[i], 'rev', ARGV[i + 1], 'state', ARGV[i + 2], 'body', ARGV[i + 3])
end
at = math.max(redis_time(), at + 1)
redis.call('HSET', KEYS[2], 'at', string.format('%d', at))
return {0, at}
