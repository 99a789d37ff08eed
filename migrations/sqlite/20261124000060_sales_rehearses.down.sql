ALTER TABLE sales DROP COLUMN rehearses
