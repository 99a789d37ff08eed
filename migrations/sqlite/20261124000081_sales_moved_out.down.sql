ALTER TABLE sales DROP COLUMN moved_out
