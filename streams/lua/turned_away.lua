-- turned_away: why a script may not touch the partition now. Put in front of those that ask (script.go): their first key is
-- meta, and their first argument is the caller's epoch. All their keys are hashes, but for those whose index is in others, with
-- the type that they are of. They ask before their first write, because a script that fails halfway is not undone.
--
-- Returns a code, or nothing: 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type

local function turned_away(others)
  for i = 1, #KEYS do
    local t = redis.call('TYPE', KEYS[i]).ok
    if t ~= 'none' and t ~= (others and others[i] or 'hash') then return 17 end
  end
  local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state')
  if not meta[2] then return 16 end
  if meta[2] ~= 'open' then return 13 end
  if meta[1] ~= ARGV[1] then return 14 end
end

