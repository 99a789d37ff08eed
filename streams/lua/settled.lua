-- settled: count settled entries of one sale. script.go puts it in front of the scripts that acknowledge entries
-- (finish, dead_letter, set_aside).
--
-- count_settled adds n entries that XACK has just removed from the group to `done` of the sale, and subtracts them from
-- its waiting count (I4). An absent sale is not created (I7). `done` never exceeds the issued tickets, even if the
-- group was created again and all entries are redelivered.

local function count_settled(sale, waiting, n)
  local numbers = redis.call('HMGET', sale, 'done', 'tickets')
  if numbers[1] then
    local done = math.min(tonumber(numbers[1]) + n, tonumber(numbers[2]))
    redis.call('HSET', sale, 'done', string.format('%d', done))
  end
  local id = string.match(sale, ':(%d+)$')
  if redis.call('HINCRBY', waiting, id, -n) <= 0 then redis.call('HDEL', waiting, id) end
end

