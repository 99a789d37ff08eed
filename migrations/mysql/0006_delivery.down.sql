DROP TABLE IF EXISTS shipments
--bun:split
DROP TABLE IF EXISTS outbox
