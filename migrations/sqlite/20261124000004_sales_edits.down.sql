ALTER TABLE sales DROP COLUMN archived_at
--bun:split
ALTER TABLE sales DROP COLUMN updated_at
