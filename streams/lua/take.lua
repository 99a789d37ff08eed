-- take: lease the due orders. They stay in the queue with a raised score: orders of a dead sweeper become due again
-- by themselves.
--
-- KEYS  1 deadlines (zset)
-- ARGV  1 maximum number of orders (1–1000)   2 duration of the lease (ms)
--
-- Returns {now (ms), lease, next, order ids…}
--   lease  the new score of the orders, as a string; it identifies this lease (see renew, drop)
--   next   the lowest remaining score, as a string, or '' if the queue is empty

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
