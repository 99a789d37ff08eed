-- take: lease the orders whose deadline has come. They stay in the queue with a raised score, so that the work of
-- a sweeper that dies comes back by itself.
--
-- KEYS  1 deadlines (zset)
-- ARGV  1 how many at most (1–1000)   2 lease (ms)
--
-- Returns {now (ms), lease, next, order ids…}
--   lease  the score that the orders have now, as text; it names this lease (see renew, drop)
--   next   the lowest score that is left, as text, or '' when the queue is empty

local now = redis_time()
local lease = string.format('%d', now + tonumber(ARGV[2]))
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now), 'LIMIT', '0', ARGV[1])
if #due > 0 then
  local raised = {}
  for i, order in ipairs(due) do raised[2 * i - 1], raised[2 * i] = lease, order end
  redis.call('ZADD', KEYS[1], unpack(raised))
end
local first = redis.call('ZRANGE', KEYS[1], '0', '0', 'WITHSCORES')
return {string.format('%d', now), lease, first[2] and string.format('%d', tonumber(first[2])) or '', unpack(due)}
