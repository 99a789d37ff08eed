ALTER TABLE orders DROP COLUMN portion_of
