ALTER TABLE orders_archive DROP COLUMN portion_of
