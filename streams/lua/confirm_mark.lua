-- confirm_mark: accept the state of a stream once its lost entries are scheduled again (see post.lua).
--
-- KEYS  1 mark (hash)
-- ARGV  1 history of the server   2 the mark, ms, 0: none; both as read when the loss was found
--
-- Returns {code}
--   code  0 done, 20 the server has begun another history since, or the mark has changed

if history() ~= ARGV[1] or (redis.call('HGET', KEYS[1], 'at') or '0') ~= ARGV[2] then return {20} end
redis.call('HSET', KEYS[1], 'history', ARGV[1])
if ARGV[2] == '0' then redis.call('HSET', KEYS[1], 'at', string.format('%d', redis_time())) end
return {0}
