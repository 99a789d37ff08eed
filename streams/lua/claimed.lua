-- claimed: checks that the calling recovery still owns the partition. script.go puts it in front of the recovery
-- scripts. Their first key is meta, and their first argument is the claim: the epoch that the recovery will begin
-- (see close.lua).
--
-- Returns a code, or nothing: 14 another recovery has claimed the partition since, 18 no recovery runs

local function claimed()
  local meta = redis.call('HMGET', KEYS[1], 'state', 'claim')
  if meta[1] ~= 'recovering' then return 18 end
  if meta[2] ~= ARGV[1] then return 14 end
end

