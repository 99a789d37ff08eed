-- mail_post: append an e-mail to the queue once. A mark turns a repeated call into a no-op.
--
-- KEYS  1 queue (stream)   2 mark of this e-mail (string)
-- ARGV  1 kind   2 body: JSON of the e-mail   3 lifetime of the mark, ms   4 maximum length of the queue (e-mails)
--
-- Returns {code}
--   code  0 done, 1 appended before, 17 a key has a wrong type, 18 the queue is full

local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'stream' then return {17} end
if redis.call('EXISTS', KEYS[2]) == 1 then return {1} end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[4]) then return {18} end
redis.call('XADD', KEYS[1], '*', 'kind', ARGV[1], 'body', ARGV[2])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[3])
return {0}
