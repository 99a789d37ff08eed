ALTER TABLE slots DROP COLUMN updated_at
--bun:split
ALTER TABLE slots DROP COLUMN version
