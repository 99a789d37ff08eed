-- rejection: returns the reason why a script may not use the partition now. script.go puts it in front of the scripts that
-- call it. Their first key is meta, and their first argument is the caller's epoch. All keys are hashes, except those
-- whose index is in `others`, which contains their types. Scripts call it before the first write: Redis does not undo a script
-- that fails halfway.
--
-- Returns {code, changes}. code: nil, or 13 recovering, 14 epoch differs, 16 partition absent, 17 a key has a wrong type.
-- changes: see below, if code is nil.
--
-- count_change raises the number of changes of the partition and returns it. Each script that changes counters or holds of a
-- sale calls it once, apart from reservations, which raise seq. An older state of Redis then has a smaller number than nodes
-- have seen (I8).

local function rejection(others)
  for i = 1, #KEYS do
    local t = redis.call('TYPE', KEYS[i]).ok
    if t ~= 'none' and t ~= (others and others[i] or 'hash') then return 17 end
  end
  local meta = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'changes')
  if not meta[2] then return 16 end
  if meta[2] ~= 'open' then return 13 end
  if meta[1] ~= ARGV[1] then return 14 end
  return nil, tonumber(meta[3] or '0')
end

local function count_change() return redis.call('HINCRBY', KEYS[1], 'changes', '1') end

