DROP TABLE IF EXISTS archive_drops
--bun:split
DROP TABLE IF EXISTS orders_archive
--bun:split
DROP TABLE IF EXISTS orders
