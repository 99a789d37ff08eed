-- dead_letter: move an entry that failed for good to the dead letters. Its order has its row (refused) by now.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)   4 attempts (hash)   5 dead (stream)
--       6 sale (hash)   7 sale buyers (hash); these two only when the entry names a sale
-- ARGV  1 epoch   2 stream id   3 reason   4 deliveries (failures on its own account)
--       5 user id or ''
--
-- Returns {code, id of the dead letter or '' when the entry was acknowledged before}
--   code  0 done, 13 rebuilding, 14 epoch differs, 16 partition absent, 17 a key has a wrong type

-- 1. Look before writing.
local types = {'hash', 'stream', 'hash', 'hash', 'stream', 'hash', 'hash'}
for i = 1, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state')
if not meta[2] then return {16} end
if meta[2] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end

-- 2. The letter is the entry as it was, then why. An entry that is gone leaves only the why.
local fields = {}
local entry = redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2])[1]
if entry then
  for _, v in ipairs(entry[2]) do fields[#fields + 1] = v end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for _, v in ipairs({'reason', ARGV[3], 'stream', ARGV[2], 'deliveries', ARGV[4], 'at', string.format('%d', now)}) do
  fields[#fields + 1] = v
end

-- 3. Acknowledge first: only who does that writes the letter (I4).
if redis.call('XACK', KEYS[2], 'fulfil', ARGV[2]) == 0 then return {0, ''} end
local id = redis.call('XADD', KEYS[5], '*', unpack(fields))
redis.call('HDEL', KEYS[4], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'waiting', '-1')
local numbers = KEYS[6] and redis.call('HMGET', KEYS[6], 'done', 'tickets')
if numbers and numbers[1] and tonumber(numbers[1]) < tonumber(numbers[2]) then redis.call('HINCRBY', KEYS[6], 'done', '1') end

-- 4. It no longer waits.
if KEYS[6] then
  local sale = string.match(KEYS[6], ':(%d+)$')
  if redis.call('HINCRBY', KEYS[3], sale, -1) <= 0 then redis.call('HDEL', KEYS[3], sale) end
  local field = ARGV[5] ~= '' and redis.call('HGET', KEYS[7], ARGV[5])
  local settled, waits = string.match(field or '', '^(%d+|%d+|[^|]*)|(.*)$')
  if settled then
    local rest = {}
    for other in string.gmatch(waits, '[^ ]+') do
      if other ~= ARGV[2] then rest[#rest + 1] = other end
    end
    redis.call('HSET', KEYS[7], ARGV[5], #rest == 0 and settled or settled .. '|' .. table.concat(rest, ' '))
  end
end
return {0, id}
