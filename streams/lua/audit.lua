-- audit: everything about one sale, in one instant.
--
-- KEYS  1 sale (hash)   2 sale buyers (hash)   3 sale open (hash)
-- ARGV  1 'all', or 'buyers' to leave out the holds and the buyers' values
--
-- Returns {sale as field, value list; buyers as user, value list or list of users; open as order, value list}

if ARGV[1] == 'buyers' then return {redis.call('HGETALL', KEYS[1]), redis.call('HKEYS', KEYS[2]), {}} end
return {redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
