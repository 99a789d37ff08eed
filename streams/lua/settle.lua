-- settle: acknowledge entries whose rows are committed. done and waiting move only by what XACK returned (I4), so
-- that an entry settled twice, or by two consumers, counts once.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)   5… sale (hash), one per sale of the batch
-- ARGV  1 epoch   then three per entry: stream id, index of its sale in KEYS, user id
--
-- Returns {code, entries that were acknowledged now}
--   code  0 done, 13 rebuilding, 14 epoch differs, 16 partition absent, 17 a key has a wrong type

-- 1. Look before writing.
for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= (i == 2 and 'stream' or 'hash') then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state')
if not meta[2] then return {16} end
if meta[2] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end
local counted = redis.call('EXISTS', KEYS[4]) == 1

-- 2. The user's entries that are not settled, without this one.
local function forget(user, entry)
  local list = redis.call('HGET', KEYS[3], user)
  if not list then return end
  local rest = {}
  for id in string.gmatch(list, '[^ ]+') do
    if id ~= entry then rest[#rest + 1] = id end
  end
  if #rest == 0 then
    redis.call('HDEL', KEYS[3], user)
  else
    redis.call('HSET', KEYS[3], user, table.concat(rest, ' '))
  end
end

-- 3. One by one, so that each acknowledgement says whether it was the first.
local done, total = {}, 0
for i = 2, #ARGV, 3 do
  if redis.call('XACK', KEYS[2], 'fulfil', ARGV[i]) == 1 then
    local sale = tonumber(ARGV[i + 1])
    done[sale] = (done[sale] or 0) + 1
    total = total + 1
    forget(ARGV[i + 2], ARGV[i])
    if counted then redis.call('HDEL', KEYS[4], ARGV[i]) end
  end
end

-- 4. A sale that is not there is not made (I7); no more tickets are done than were given out, even after somebody
--    has made the group anew and all entries come again.
for sale = 5, #KEYS do
  local numbers = done[sale] and redis.call('HMGET', KEYS[sale], 'done', 'tickets')
  if numbers and numbers[1] then
    local settled = math.min(tonumber(numbers[1]) + done[sale], tonumber(numbers[2]))
    redis.call('HSET', KEYS[sale], 'done', string.format('%d', settled))
  end
end
if total > 0 then redis.call('HINCRBY', KEYS[1], 'waiting', string.format('%d', -total)) end
return {0, total}
