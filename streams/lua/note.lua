-- note: record the progress of the database on which the partition is based.
--
-- KEYS  1 meta (hash)
-- ARGV  1 epoch   2 server   3 generation   4 beat
--
-- Returns {code, changes of the partition}: 0 recorded, or a later beat is stored, 13 recovering, 14 epoch or history differs,
--   16 partition absent, 17 a key has a wrong type
--
-- Once they are recorded, only open.lua changes server and generation.

local code, changes = rejection()
if code then return {code} end
local db = redis.call('HMGET', KEYS[1], 'db_server', 'db_generation', 'db_beat')
if db[1] and (db[1] ~= ARGV[2] or db[2] ~= ARGV[3]) then return {14} end
if tonumber(db[3] or '0') <= tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[1], 'db_server', ARGV[2], 'db_generation', ARGV[3], 'db_beat', ARGV[4])
end
return {0, changes}
