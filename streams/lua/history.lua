-- history: returns the id of the history of this server's data. script.go puts it in front of the scripts that call it.
--
-- Redis changes the replication id when a server starts and when a replica is promoted. Redis also changes the id when
-- a server gets its first replica, or has had no replica for an hour. While the id stays the same, no other state can
-- have replaced the data. If it differs from meta.history, nothing is sold until a node has checked the data (I8). The
-- id is '' where INFO does not report it (embedded Redis, managed services); then only the last orders that nodes have
-- seen decide. The second result is the text of INFO.

local function history()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '', '' end
  local id = string.match(info, 'master_replid:(%x+)') or ''
  return id, info
end
