-- reserve: decide buys of one sale, in their order, as one step. It deducts the units of accepted buys. hold.lua
-- deducts units for late payments and replays, take_out.lua deducts withdrawn units.
--
-- KEYS  1 meta (hash)   2 orders (stream)   3 waiting (hash)
--       4 sale (hash)   5 its buyers (hash)   6 its open holds (hash)
-- ARGV  1 epoch of the caller   2 backlog bound of the partition (reservations)   3 sale id
--       4 the highest seq that the caller has seen in this epoch
--       5 user id, 6 order id of the last reservation of this sale that the caller has seen in this epoch; 0: none
--       then six per buy: order id, user id, quantity (units), key, content hash, address (JSON or '')
--       then passes, only if the sale requires passes: per buy the time at which its pass was issued (ms), 0 without a
--       valid pass, - if it needs none; each followed by a space
--       then traces, only if some buys are traced (passes is then '' if the sale requires none): per traced buy its
--       number from 1, =, and the parent of its next span (trace.SpanRef); each followed by a space
--
-- Returns {code, done, free, first, seq, then three per buy that was not reserved now: number from 1, verdict, value}
--   code    0 decided. Other codes reject the whole call, and nothing follows: 12 sale absent or not armed,
--           13 partition recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type,
--           18 a quantity is not a positive whole number, or the passes are not one per buy,
--           19 Redis does not have a reservation that the caller has seen,
--           20 the server began another history that is not confirmed yet (see history.lua)
--   done    settled tickets of the sale
--   free    free units after the last buy
--   first   ticket of the first buy that was reserved now; the others have the following tickets, in their order. This
--           short form halves the cost of a reply
--   seq     of the last reservation of the partition, this call included
--   verdict 2 repeated                            value = 'ticket:order id' of the first buy
--           3 same key with other content         value = 'ticket:order id' of the first buy
--           4 not open     5 closed     6 paused     7 limit per buyer     8 cap per buyer
--           9 not enough units     10 backlog full                         value = 0
--          15 no pass, or its issue time is not later than that of the pass that this buyer spent last
--          11 cooldown                            value = milliseconds until the units may be sold
--          22 the order id is in use in this sale: repeat with another id under the same key        value = 0
--
-- A stream entry has one field, terms:
--   version of this layout:order:epoch:base:ticket:hold:quantity:price:sale version:content hash:key:sale:user:address
-- base is the seq of the reservation − its ticket. It is the same for the whole call, so it is formatted once. There
-- is one field, because each field costs Redis more than its bytes, above all in the append-only file
-- (deploy/DECISIONS.md). Only the entry of a traced buy has a second field, trace.
--
-- Repeating the same call is safe: the script finds accepted buys by their key (I6).

-- 1. Check everything before the first write: Redis does not undo a script that fails halfway.
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
local argv, buys, users, orders = ARGV, math.floor((#ARGV - 6) / 6), {}, {} -- a local name is found faster
for b = 1, buys do
  local qty = argv[6 * b + 3]
  if qty ~= '1' and not string.find(qty, '^[1-9]%d*$') then return {18} end
  orders[b], users[b] = argv[6 * b + 1], argv[6 * b + 2]
end
local passes -- one per buy, if the sale requires passes
local extra = #ARGV % 6
local pass_list = extra == 1 and ARGV[#ARGV] or extra == 2 and ARGV[#ARGV - 1] ~= '' and ARGV[#ARGV - 1]
if pass_list then
  passes = {}
  for pass in string.gmatch(pass_list, '[^ ]+') do
    if pass ~= '-' and not string.find(pass, '^%d+$') then return {18} end
    passes[#passes + 1] = pass
  end
  if #passes ~= buys then return {18} end
end
local traces -- by the number of the buy, if some are traced
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

-- 2. Read the records of all buyers in one call. A buyer may have several buys in one call: `fields` has the new records of
--    buyers with an accepted buy. The last reservation that the caller has seen is read, too (I8). An accepted order
--    stays in its buyer's record while the sale exists. If it is missing, Redis has returned to an older state whose
--    seq has caught up through other buys.
--    An order id that already has a hold was generated twice, by two nodes with the same node number.
users[buys + 1] = ARGV[5]
local stored, fields = redis.call('HMGET', KEYS[5], unpack(users)), {}
local in_use = stock > 0 and redis.call('HMGET', KEYS[6], unpack(orders))
if ARGV[6] ~= '0' and not string.find(stored[buys + 1] or '', ARGV[6] .. ':', 1, true) then return {19} end

-- 3. The key comes before every rejection (I9, P4), also without a pass. lookup returns units, number of records,
--    records, their entries, the pass spent last and, if the key was accepted before, its order, hash and
--    ticket. Frequent buyers have long records: plain find and sub are used, because patterns scan them character by
--    character.
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

-- 4. The reason why a new buy is rejected; nil if it is accepted. The pass is checked before the free units and the buyer's
--    units: without a pass, the verdict must not reveal them. A rejected buy does not spend its pass.
local number = tonumber
local shut = paused and 6 or now < opens and 4 or now >= closes and 5
local used = {} -- order ids accepted in this call
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

-- 5. A record keeps the ids of its entries until the next entry is added. Then the earlier ids are removed if all their
--    entries are provably settled. The instant before which all entries are settled is read at most once, for a repeat
--    buyer.
local settled_before
local function unsettled(ids)
  if not settled_before then
    local _, bound = progress(KEYS[2])
    settled_before = tonumber(string.match(bound or '0', '^%d+'))
  end
  return tonumber(string.match(ids, '(%d+)%-%d+$')) < settled_before and '' or ids .. ' '
end

-- 6. Decide one by one. An accepted buy becomes a stream entry at once. Buyers and holds are collected and written
--    together, which makes a group cheap. Formatting a number costs more than concatenation: each is formatted once.
local call, format, stream = redis.call, string.format, KEYS[2]
local head = ':' .. ARGV[1] .. ':' .. format('%d', seq - tickets) .. ':'
local middle, tail = ':' .. price .. ':' .. version .. ':', ':' .. ARGV[3] .. ':'
local reply, accepted, holds = {0, done, stock, tickets + 1, seq}, 0, {}
for b = 1, buys do
  local i, user = 6 * b + 1, users[b]
  local order, qty, key, hash = orders[b], argv[i + 2], argv[i + 3], argv[i + 4]
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
      hash .. ':' .. key .. tail .. user .. ':' .. argv[i + 5], traces and traces[b]
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

-- 7. The remaining writes, once for all buys.
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
