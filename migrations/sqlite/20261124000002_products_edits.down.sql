ALTER TABLE products DROP COLUMN archived_at
--bun:split
ALTER TABLE products DROP COLUMN updated_at
--bun:split
ALTER TABLE products DROP COLUMN version
