DROP TABLE IF EXISTS restored_sales
--bun:split
DROP TABLE IF EXISTS differences
--bun:split
DROP TABLE IF EXISTS refunds
--bun:split
DROP TABLE IF EXISTS payments
--bun:split
DROP TABLE IF EXISTS trades
