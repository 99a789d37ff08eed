-- reserve: decide buys of one sale, in their order, as one step. The stock is deducted here and nowhere else.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)
--       4 sale (hash)   5 sale buyers (hash)   6 sale open (hash)
-- ARGV  1 epoch of the caller   2 backlog bound of the partition (reservations)   3 sale id
--       then six per buy: order id, user id, quantity (units), key, content hash, address (JSON or '')
--
-- Returns {code, done, then four per buy: verdict, number, free, order}
--   code    0 decided. The whole call was turned away, and nothing follows: 12 sale absent or not armed,
--           13 partition rebuilding, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 a quantity is not a positive whole number
--   done    tickets of the sale that are settled
--   verdict 1 reserved     number = ticket            order = ''
--           2 repeated     number = ticket then       order = the order id then
--           3 same key with other content             order = the order id then
--           4 not open     5 closed     6 paused     7 limit per buyer     8 cap per buyer
--           9 not enough units     10 backlog full
--          11 resting      number = milliseconds until the units may be sold
--   free    units free after this buy
--
-- Sending the same call again is safe: whoever was accepted is found by his key (I6).

-- 1. Look at everything before the first write: a script that fails halfway is not undone.
local types = {'hash', 'stream', 'hash', 'hash', 'hash', 'hash'}
for i = 1, 6 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'state', 'waiting')
if not meta[3] then return {16} end
if meta[3] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end
local sale = redis.call('HMGET', KEYS[4], 'armed', 'price', 'version', 'opens', 'closes', 'limit', 'cap',
  'stock', 'held', 'tickets', 'done', 'paused', 'rest_until')
if sale[1] ~= '1' then return {12} end
for i = 6, #ARGV, 6 do
  local qty = tonumber(ARGV[i])
  if not qty or qty < 1 or qty % 1 ~= 0 then return {18} end
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local seq, waiting, bound = tonumber(meta[2]), tonumber(meta[4]), tonumber(ARGV[2])
local price, version, opens, closes = sale[2], sale[3], tonumber(sale[4]), tonumber(sale[5])
local limit, cap = tonumber(sale[6]), tonumber(sale[7])
local stock, held, tickets, done = tonumber(sale[8]), tonumber(sale[9]), tonumber(sale[10]), tonumber(sale[11])
local paused, rest = sale[12] == '1', tonumber(sale[13]) - now

-- 2. What this buyer has, and whether this key is among it. The key comes before every refusal (I9, P4).
local function lookup(user, key)
  local field = redis.call('HGET', KEYS[5], user)
  if not field then return 0, '', 0 end
  local units, records = string.match(field, '^(%d+)|(.*)$')
  local count = 0
  for order, hash, ticket, k in string.gmatch(records, '([^:;]*):([^:;]*):([^:;]*):([^:;]*)') do
    if k == key then return tonumber(units), records, count, order, hash, tonumber(ticket) end
    count = count + 1
  end
  return tonumber(units), records, count
end

-- 3. Why a new buy is refused; nil when it is not.
local function refusal(units, count, qty)
  if paused then return 6, 0 end
  if now < opens then return 4, 0 end
  if now >= closes then return 5, 0 end
  if count >= cap then return 8, 0 end
  if units + qty > limit then return 7, 0 end
  if waiting >= bound then return 10, 0 end
  if qty > stock then return 9, 0 end
  if rest > 0 then return 11, rest end
end

local reply = {0, done}
local function answer(verdict, number, order)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = verdict, number, stock, order
end

local accepted = 0
for i = 4, #ARGV, 6 do
  local order, user, qty, key, hash, addr = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local units, records, count, first, content, ticket = lookup(user, key)
  if first then
    answer(content == hash and 2 or 3, ticket, first)
  else
    local verdict, number = refusal(units, count, qty)
    if verdict then
      answer(verdict, number, '')
    else
      -- 4. Accept: buyer, hold, stream entry and list of what waits, each in one write.
      accepted, stock, held = accepted + 1, stock - qty, held + qty
      tickets, seq, waiting = tickets + 1, seq + 1, waiting + 1
      local n, t, s = string.format('%d', qty), string.format('%d', tickets), string.format('%d', seq)
      local record = order .. ':' .. hash .. ':' .. t .. ':' .. key
      if records ~= '' then record = records .. ';' .. record end
      redis.call('HSET', KEYS[5], user, string.format('%d', units + qty) .. '|' .. record)
      redis.call('HSET', KEYS[6], order, '1:' .. user .. ':' .. n)
      local id = redis.call('XADD', KEYS[2], '*', 'v', '1', 'epoch', ARGV[1], 'seq', s, 'sale', ARGV[3], 'order', order,
        'user', user, 'qty', n, 'price', price, 'version', version, 'ticket', t, 'hold', '1', 'key', key, 'hash', hash,
        'addr', addr)
      local item = table.concat({order, ARGV[3], t, '1', n, price, version, s, string.match(id, '^%d+'), hash, key}, ':')
      if redis.call('HSETNX', KEYS[3], user, item) == 0 then
        redis.call('HSET', KEYS[3], user, redis.call('HGET', KEYS[3], user) .. ';' .. item)
      end
      answer(1, tickets, '')
    end
  end
end

-- 5. The numbers, once for all buys.
if accepted > 0 then
  redis.call('HSET', KEYS[4], 'stock', string.format('%d', stock), 'held', string.format('%d', held),
    'tickets', string.format('%d', tickets))
  redis.call('HSET', KEYS[1], 'seq', string.format('%d', seq), 'waiting', string.format('%d', waiting))
end
return reply
