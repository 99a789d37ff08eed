DROP TRIGGER orders_changed
--bun:split
DROP TRIGGER orders_written
--bun:split
ALTER TABLE orders DROP COLUMN changed_at
