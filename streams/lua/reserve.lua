-- reserve: decide buys of one sale, in their order, as one step. Buys are deducted here; hold.lua deducts the units of
-- late payments and replays, take_out.lua those of withdrawals.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)
--       4 sale (hash)   5 sale buyers (hash)   6 sale open (hash)
-- ARGV  1 epoch of the caller   2 backlog bound of the partition (reservations)   3 sale id
--       4 the highest seq that the caller has seen in this epoch
--       5 user id, 6 order id of the last reservation of this sale that the caller has seen in this epoch; 0: none
--       then six per buy: order id, user id, quantity (units), key, content hash, address (JSON or '')
--       behind them, only when the sale asks for passes, one for all buys: of each, with a space behind it, when its pass
--       was issued (ms), 0 when it has none that is in order, - when it needs none
--       behind that, which is '' then when the sale asks for none, only when some of the buys are traced: of each such buy,
--       with a space behind it, its number from 1 on, = and where its trace goes on (trace.SpanRef)
--
-- Returns {code, done, free, first, seq, then three per buy that was not reserved now: its number from 1, verdict, value}
--   code    0 decided. The whole call was turned away, and nothing follows: 12 sale absent or not armed,
--           13 partition recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 a quantity is not a positive whole number, or the passes are not one per buy, 19 the caller has seen what is not here,
--           20 the server began another history since somebody has looked (see history.lua)
--   done    tickets of the sale that are settled
--   free    units free after the last buy
--   first   ticket of the first buy that was reserved now; the others have the following ones, in their order. Saying
--           only this of them halves what a reply costs
--   seq     of the last reservation of the partition, this call included
--   verdict 2 repeated                            value = 'ticket:order id' of then
--           3 same key with other content         value = 'ticket:order id' of then
--           4 not open     5 closed     6 paused     7 limit per buyer     8 cap per buyer
--           9 not enough units     10 backlog full                         value = 0
--          15 no pass, or one that was not issued later than the one that this buyer spent last
--          11 resting                             value = milliseconds until the units may be sold
--          22 the order id is in use in this sale: repeat with another id under the same key        value = 0
--
-- A stream entry has one field, terms:
--   version of this layout:order:epoch:base:ticket:hold:quantity:price:sale version:content hash:key:sale:user:address
-- where base is the seq of the reservation − its ticket: the same for all of a call, so that it is written out once. One
-- field, because each costs Redis more than its bytes, most of all in the append-only file (deploy/DECISIONS.md).
-- Only the entry of a traced buy has a second one, trace.
--
-- Sending the same call again is safe: whoever was accepted is found by his key (I6).

-- 1. Look at everything before the first write: a script that fails halfway is not undone.
local types = {'hash', 'stream', 'hash', 'hash', 'hash', 'hash'}
for i = 1, 6 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then return {17} end
end
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'state', 'waiting', 'history')
if not meta[3] then return {16} end
if meta[3] ~= 'open' then return {13} end
if meta[1] ~= ARGV[1] then return {14} end
if meta[5] ~= history() then return {20} end
if tonumber(meta[2]) < tonumber(ARGV[4]) then return {19} end
local sale = redis.call('HMGET', KEYS[4], 'armed', 'price', 'version', 'opens', 'closes', 'limit', 'cap',
  'stock', 'held', 'tickets', 'done', 'paused', 'rest_until', 'stuck')
if sale[1] ~= '1' then return {12} end
local asks, buys, users, orders = ARGV, math.floor((#ARGV - 6) / 6), {}, {} -- a local name is found faster
for b = 1, buys do
  local qty = asks[6 * b + 3]
  if qty ~= '1' and not string.find(qty, '^[1-9]%d*$') then return {18} end
  orders[b], users[b] = asks[6 * b + 1], asks[6 * b + 2]
end
local passes -- one per buy, when the sale asks for them
local extra = #ARGV % 6
local asked = extra == 1 and ARGV[#ARGV] or extra == 2 and ARGV[#ARGV - 1] ~= '' and ARGV[#ARGV - 1]
if asked then
  passes = {}
  for pass in string.gmatch(asked, '[^ ]+') do
    if pass ~= '-' and not string.find(pass, '^%d+$') then return {18} end
    passes[#passes + 1] = pass
  end
  if #passes ~= buys then return {18} end
end
local traces -- by the number of the buy, when some are traced
if extra == 2 then
  traces = {}
  for b, trace in string.gmatch(ARGV[#ARGV], '(%d+)=(%x+%-%x+)') do traces[tonumber(b)] = trace end
end

local now = redis_time()
local seq, waiting, bound = tonumber(meta[2]), tonumber(meta[4]), tonumber(ARGV[2])
local price, version, opens, closes = sale[2], sale[3], tonumber(sale[4]), tonumber(sale[5])
local limit, cap = tonumber(sale[6]), tonumber(sale[7])
local stock, held, tickets, done = tonumber(sale[8]), tonumber(sale[9]), tonumber(sale[10]), tonumber(sale[11])
local paused, rest = sale[12] == '1' or sale[14], tonumber(sale[13]) - now

-- 2. What the buyers have, read at once. A buyer may come twice in one call: fields follows the decisions. Among them is
--    who bought last as far as the caller has seen (I8). Whatever was accepted stays in its buyer's record as long as the
--    sale lives: where it is missing this is an older state, whose seq has caught up with buys of others.
--    An order id that has a hold was generated twice, by two nodes with the same node number.
users[buys + 1] = ARGV[5]
local stored, fields = redis.call('HMGET', KEYS[5], unpack(users)), {}
local in_use = stock > 0 and redis.call('HMGET', KEYS[6], unpack(orders))
if ARGV[6] ~= '0' and not string.find(stored[buys + 1] or '', ARGV[6] .. ':', 1, true) then return {19} end

-- 3. The key comes before every refusal (I9, P4), also of who has no pass. Answers units, number of records, records, their
--    entries, the pass spent last, and, when the key was accepted before, with what. Who has bought often has long records: they are cut and searched as plain texts,
--    because patterns go through them letter by letter.
local find, sub = string.find, string.sub
local function lookup(field, key)
  local first = find(field, '|', 1, true)
  local second = find(field, '|', first + 1, true)
  local third = find(field, '|', second + 1, true) or #field + 1
  local fourth = third < #field and find(field, '|', third + 1, true) or nil
  local units, count = tonumber(sub(field, 1, first - 1)), tonumber(sub(field, first + 1, second - 1))
  local records, ids = sub(field, second + 1, third - 1), sub(field, third + 1, fourth and fourth - 1)
  local spent = fourth and sub(field, fourth + 1)
  local _, last = find(records, ':' .. key .. ';', 1, true)
  if not last then return units, count, records, ids, spent end
  local order, hash, ticket = string.match(sub(records, 1, last), '([^:;]+):([^:;]*):([^:;]+):[^:;]+;$')
  return units, count, records, ids, spent, order, hash, ticket
end

-- 4. Why a new buy is refused; nil when it is not. A pass is looked at before anything that others could learn from: how
--    many units are left, what a buyer has. A buy that is refused does not spend it.
local number = tonumber
local shut = paused and 6 or now < opens and 4 or now >= closes and 5
local used = {} -- order ids of this call that were accepted
local function refusal(b, units, count, qty, pass, spent)
  if shut then return shut, 0 end
  if pass and pass ~= '-' and number(pass) <= number(spent or '0') then return 15, 0 end
  if count >= cap then return 8, 0 end
  if units + qty > limit then return 7, 0 end
  if waiting >= bound then return 10, 0 end
  if qty > stock then return 9, 0 end
  if rest > 0 then return 11, rest end
  if in_use[b] or used[orders[b]] then return 22, 0 end
end

-- 5. A record keeps the ids of its entries until one is added: then those go that are settled, as far as all of them are, and
--    provably. The instant before which everything is settled is looked up once, when somebody buys again.
local settled_before
local function unsettled(ids)
  if not settled_before then
    local _, bound = progress(KEYS[2])
    settled_before = tonumber(string.match(bound or '0', '^%d+'))
  end
  return tonumber(string.match(ids, '(%d+)%-%d+$')) < settled_before and '' or ids .. ' '
end

-- 6. Decide one by one. An accepted buy becomes its stream entry at once; buyers and holds are gathered and written
--    together, which is what makes a group cheap. Writing a number costs more than joining texts: each is written once.
local call, format, stream = redis.call, string.format, KEYS[2]
local head = ':' .. ARGV[1] .. ':' .. format('%d', seq - tickets) .. ':'
local middle, tail = ':' .. price .. ':' .. version .. ':', ':' .. ARGV[3] .. ':'
local reply, accepted, holds = {0, done, stock, tickets + 1, seq}, 0, {}
for b = 1, buys do
  local i, user = 6 * b + 1, users[b]
  local order, qty, key, hash = orders[b], asks[i + 2], asks[i + 3], asks[i + 4]
  local units = number(qty)
  local field = fields[user] or stored[b]
  local had, count, records, ids, spent, first, content, ticket = 0, 0, '', ''
  if field then had, count, records, ids, spent, first, content, ticket = lookup(field, key) end
  local pass = passes and passes[b]
  local verdict, value
  if first then
    verdict, value = content == hash and 2 or 3, ticket .. ':' .. first
  else
    verdict, value = refusal(b, had, count, units, pass, spent)
  end
  if not verdict then
    if pass and pass ~= '-' then spent = pass end
    accepted, stock, held = accepted + 1, stock - units, held + units
    tickets, seq, waiting = tickets + 1, seq + 1, waiting + 1
    local t = format('%d', tickets)
    local terms, trace = '2:' .. order .. head .. t .. ':1:' .. qty .. middle ..
      hash .. ':' .. key .. tail .. user .. ':' .. asks[i + 5], traces and traces[b]
    local id = trace and call('XADD', stream, '*', 'terms', terms, 'trace', trace) or call('XADD', stream, '*', 'terms', terms)
    if field then
      if ids ~= '' then ids = unsettled(ids) end
      fields[user] = format('%d|%d|', had + units, count + 1) .. records .. order .. ':' .. hash .. ':' .. t .. ':' .. key ..
        ';|' .. ids .. id
    else
      fields[user] = qty .. '|1|' .. order .. ':' .. hash .. ':' .. t .. ':' .. key .. ';|' .. id
    end
    if spent then fields[user] = fields[user] .. '|' .. spent end
    holds[2 * accepted - 1], holds[2 * accepted], used[order] = order, '1:' .. qty, true
  else
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = b, verdict, value
  end
end
reply[3], reply[5] = stock, seq
if accepted == 0 then return reply end

-- 7. The rest of the writes, once for all buys.
local buyers, n = {}, 0
for user, field in pairs(fields) do
  buyers[n + 1], buyers[n + 2], n = user, field, n + 2
end
call('HSET', KEYS[5], unpack(buyers))
call('HSET', KEYS[6], unpack(holds))
call('HINCRBY', KEYS[3], ARGV[3], accepted)
call('HSET', KEYS[4], 'stock', string.format('%d', stock), 'held', string.format('%d', held),
  'tickets', string.format('%d', tickets))
call('HSET', KEYS[1], 'seq', string.format('%d', seq), 'waiting', string.format('%d', waiting))
return reply
