DROP INDEX sales_blank
--bun:split
DROP INDEX sales_archive
--bun:split
ALTER TABLE sales DROP COLUMN blank_at
--bun:split
ALTER TABLE sales DROP COLUMN archive_at
--bun:split
ALTER TABLE sales DROP COLUMN moved_at
