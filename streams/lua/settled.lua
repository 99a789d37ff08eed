-- settled: what the two scripts do that acknowledge entries (finish, dead_letter), for entries of one sale. Put in front of them
-- (script.go).
--
-- count_settled moves done and waiting of the sale by n entries that XACK has just taken out of the group (I4). A sale that is
-- not there is not made (I7); no more tickets are done than were given out, even after somebody has made the group anew and
-- all entries come again.

local function count_settled(sale, waiting, n)
  local numbers = redis.call('HMGET', sale, 'done', 'tickets')
  if numbers[1] then
    local done = math.min(tonumber(numbers[1]) + n, tonumber(numbers[2]))
    redis.call('HSET', sale, 'done', string.format('%d', done))
  end
  local id = string.match(sale, ':(%d+)$')
  if redis.call('HINCRBY', waiting, id, -n) <= 0 then redis.call('HDEL', waiting, id) end
end

