ALTER TABLE sales DROP COLUMN limit_most
