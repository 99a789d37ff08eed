-- mail_post: append a letter to those that are to be sent, once: a mark keeps a repeat from being a second letter.
--
-- KEYS  1 letters (stream)   2 mark of this letter (string)
-- ARGV  1 kind   2 JSON of the letter   3 how long the mark stays, ms   4 the most letters that may wait
--
-- Returns {code}
--   code  0 done, 1 it was posted before, 17 a key has a wrong type, 18 too many letters wait

local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'stream' then return {17} end
if redis.call('EXISTS', KEYS[2]) == 1 then return {1} end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[4]) then return {18} end
redis.call('XADD', KEYS[1], '*', 'kind', ARGV[1], 'letter', ARGV[2])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[3])
return {0}
