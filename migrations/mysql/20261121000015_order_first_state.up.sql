-- Insert: the state that nearly every order begins in needs no words either.
ALTER TABLE orders
  ALTER COLUMN hold SET DEFAULT 1,
  ALTER COLUMN qty SET DEFAULT 1,
  ALTER COLUMN state SET DEFAULT 'pending',
  ALTER COLUMN rev SET DEFAULT 1,
  ALTER COLUMN told_rev SET DEFAULT 1
