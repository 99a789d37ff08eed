ALTER TABLE categories DROP COLUMN archived_at
--bun:split
ALTER TABLE categories DROP COLUMN updated_at
--bun:split
ALTER TABLE categories DROP COLUMN version
