-- audit: read all keys of one sale at one instant.
--
-- KEYS  1 sale (hash)   2 its buyers (hash)   3 its open holds (hash)
--
-- Returns {sale as field, value list; buyers as user, value list; open as order, value list}

return {redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
