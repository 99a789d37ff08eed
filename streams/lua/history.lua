-- history: which history the data of this server belongs to. Put in front of the scripts that ask (script.go).
--
-- The replication id is made anew whenever a server starts and whenever a replica is promoted (and when a server gets its
-- first replica, or has had none for an hour), so as long as it stays the same no other state can have come in its place.
-- When it differs from meta.history, somebody has to look before anything is sold (I8).
-- Where INFO does not tell (the embedded Redis, a managed one) it is '', and the witnesses alone decide. What INFO said comes
-- second.

local function history()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '', '' end
  local id = string.match(info, 'master_replid:(%x+)') or ''
  return id, info
end
