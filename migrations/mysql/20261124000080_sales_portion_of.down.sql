ALTER TABLE sales DROP COLUMN portion_of
