-- reserve: decide buys of one sale, in their order, as one step. The stock is deducted here and nowhere else.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)
--       4 sale (hash)   5 sale buyers (hash)   6 sale open (hash)
-- ARGV  1 epoch of the caller   2 backlog bound of the partition (reservations)   3 sale id
--       then six per buy: order id, user id, quantity (units), key, content hash, address (JSON or '')
--
-- Returns {code, done, free, first, then three per buy that was not reserved now: its number from 1, verdict, value}
--   code    0 decided. The whole call was turned away, and nothing follows: 12 sale absent or not armed,
--           13 partition rebuilding, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 a quantity is not a positive whole number
--   done    tickets of the sale that are settled
--   free    units free after the last buy
--   first   ticket of the first buy that was reserved now; the others have the following ones, in their order. Saying
--           only this of them halves what a reply costs
--   verdict 2 repeated                            value = 'ticket:order id' of then
--           3 same key with other content         value = 'ticket:order id' of then
--           4 not open     5 closed     6 paused     7 limit per buyer     8 cap per buyer
--           9 not enough units     10 backlog full                         value = 0
--          11 resting                             value = milliseconds until the units may be sold
--
-- A stream entry has two fields, order and terms, where terms is
--   version of this layout:epoch:seq:ticket:hold:quantity:price:sale version:content hash:key:sale:user:address
-- Two fields, because each costs Redis more than its bytes, most of all in the append-only file (deploy/DECISIONS.md).
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
local buys, users, asked = (#ARGV - 3) / 6, {}, {}
for b = 1, buys do
  if not string.find(ARGV[6 * b], '^[1-9]%d*$') then return {18} end
  local qty = tonumber(ARGV[6 * b])
  users[b], asked[b] = ARGV[6 * b - 1], qty
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local seq, waiting, bound = tonumber(meta[2]), tonumber(meta[4]), tonumber(ARGV[2])
local price, version, opens, closes = sale[2], sale[3], tonumber(sale[4]), tonumber(sale[5])
local limit, cap = tonumber(sale[6]), tonumber(sale[7])
local stock, held, tickets, done = tonumber(sale[8]), tonumber(sale[9]), tonumber(sale[10]), tonumber(sale[11])
local paused, rest = sale[12] == '1', tonumber(sale[13]) - now

-- 2. What the buyers have, read at once. A buyer may come twice in one call: fields follows the decisions.
local stored, fields = redis.call('HMGET', KEYS[5], unpack(users)), {}
for b = 1, buys do fields[users[b]] = stored[b] end

-- 3. The key comes before every refusal (I9, P4). Answers units, number of records, records, and, when the key was
--    accepted before, with what. Who has bought often has long records: they are searched as a plain text.
local function lookup(user, key)
  local field = fields[user]
  if not field then return 0, 0, '' end
  local units, count, records = string.match(field, '^(%d+)|(%d+)|(.*)$')
  units, count = tonumber(units), tonumber(count)
  local _, last = string.find(records, ':' .. key .. ';', 1, true)
  if not last then return units, count, records end
  local order, hash, ticket = string.match(string.sub(records, 1, last), '([^:;]+):([^:;]*):([^:;]+):[^:;]+;$')
  return units, count, records, order, hash, ticket
end

-- 4. Why a new buy is refused; nil when it is not.
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

-- 5. Decide one by one. An accepted buy becomes its stream entry at once; buyers, holds and lists of what waits
--    are gathered and written together, which is what makes a group cheap.
local call, format = redis.call, string.format
local head, middle, tail = '1:' .. ARGV[1] .. ':', ':' .. price .. ':' .. version .. ':', ':' .. ARGV[3] .. ':'
local reply, accepted, holds, entries = {0, done, stock, tickets + 1}, 0, {}, {}
for b = 1, buys do
  local i, user, units = 6 * b - 2, users[b], asked[b]
  local order, qty, key, hash = ARGV[i], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local had, count, records, first, content, ticket = lookup(user, key)
  local verdict, value
  if first then
    verdict, value = content == hash and 2 or 3, ticket .. ':' .. first
  else
    verdict, value = refusal(had, count, units)
  end
  if not verdict then
    accepted, stock, held = accepted + 1, stock - units, held + units
    tickets, seq, waiting = tickets + 1, seq + 1, waiting + 1
    local t = format('%d', tickets)
    local id = call('XADD', KEYS[2], '*', 'order', order, 'terms', head .. format('%d', seq) .. ':' .. t .. ':1:' .. qty ..
      middle .. hash .. ':' .. key .. tail .. user .. ':' .. ARGV[i + 5])
    local counted = count == 0 and had == 0 and qty .. '|1|' or format('%d|%d|', had + units, count + 1)
    fields[user] = counted .. records .. order .. ':' .. hash .. ':' .. t .. ':' .. key .. ';'
    holds[2 * accepted - 1], holds[2 * accepted] = order, '1:' .. user .. ':' .. qty
    entries[user] = entries[user] and (entries[user] .. ' ' .. id) or id
  else
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = b, verdict, value
  end
end
reply[3] = stock
if accepted == 0 then return reply end

-- 6. The rest of the writes, once for all buys.
local who, buyers, lists, n = {}, {}, {}, 0
for user in pairs(entries) do
  n = n + 1
  who[n], buyers[2 * n - 1], buyers[2 * n] = user, user, fields[user]
end
local before = redis.call('HMGET', KEYS[3], unpack(who))
for u = 1, n do
  local user = who[u]
  lists[2 * u - 1], lists[2 * u] = user, before[u] and (before[u] .. ' ' .. entries[user]) or entries[user]
end
redis.call('HSET', KEYS[5], unpack(buyers))
redis.call('HSET', KEYS[6], unpack(holds))
redis.call('HSET', KEYS[3], unpack(lists))
redis.call('HSET', KEYS[4], 'stock', string.format('%d', stock), 'held', string.format('%d', held),
  'tickets', string.format('%d', tickets))
redis.call('HSET', KEYS[1], 'seq', string.format('%d', seq), 'waiting', string.format('%d', waiting))
return reply
