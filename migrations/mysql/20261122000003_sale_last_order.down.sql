ALTER TABLE sales DROP COLUMN last_order
