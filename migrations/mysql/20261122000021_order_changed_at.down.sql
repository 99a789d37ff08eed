ALTER TABLE orders DROP COLUMN changed_at
