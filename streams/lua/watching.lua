-- watching: how many people watch a sale, on all nodes that have said so lately (watch.lua). Writes nothing.
--
-- KEYS  1 watching (hash)
--
-- Returns {people}; 0 also when the key is something else

if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {0} end
local now, people = redis_time(), 0
for _, said in ipairs(redis.call('HVALS', KEYS[1])) do
  local count, expires = string.match(said, '^(%d+):(%d+)$')
  if count and tonumber(expires) > now then people = people + tonumber(count) end
end
return {people}
