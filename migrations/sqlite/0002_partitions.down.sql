DROP TABLE IF EXISTS history
--bun:split
DROP TABLE IF EXISTS node_leases
--bun:split
DROP TABLE IF EXISTS partitions
