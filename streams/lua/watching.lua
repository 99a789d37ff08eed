-- watching: sum the people who watch a sale over all nodes with a valid count (watch.lua). Writes nothing.
--
-- KEYS  1 watching (hash)
--
-- Returns {people}; also 0 if the key has another type

if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {0} end
local now, people = redis_time(), 0
for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
  local count, expires = string.match(value, '^(%d+):(%d+)$')
  if count and tonumber(expires) > now then people = people + tonumber(count) end
end
return {people}
