-- leave: a consumer says goodbye. Deleting one that has pending entries would lose them, so it stays then.
--
-- KEYS  1 orders (stream)
-- ARGV  1 consumer
--
-- Returns {1 deleted, 0 it has pending entries, or there is no such stream, group or consumer}

local pending = redis.pcall('XPENDING', KEYS[1], 'fulfil', '-', '+', '1', ARGV[1])
if pending.err or #pending > 0 then return {0} end
local gone = redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], 'fulfil', ARGV[1])
if type(gone) == 'table' and gone.err then return {0} end
return {1}
