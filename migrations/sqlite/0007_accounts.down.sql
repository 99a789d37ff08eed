DROP TABLE IF EXISTS blocks
--bun:split
DROP TABLE IF EXISTS erasures
--bun:split
DROP TABLE IF EXISTS addresses
--bun:split
DROP TABLE IF EXISTS mail_tokens
--bun:split
DROP TABLE IF EXISTS revoked
--bun:split
DROP TABLE IF EXISTS devices
--bun:split
DROP TABLE IF EXISTS users
