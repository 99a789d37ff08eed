-- Insert: what a new order is not yet needs no words; a third of what the statement of hundreds of rows said.
ALTER TABLE orders
  ALTER COLUMN paid_at SET DEFAULT 0,
  ALTER COLUMN cancelled_at SET DEFAULT 0,
  ALTER COLUMN trade_opened SET DEFAULT 0,
  ALTER COLUMN trade_no SET DEFAULT '',
  ALTER COLUMN tracking SET DEFAULT '',
  ALTER COLUMN reason SET DEFAULT ''
