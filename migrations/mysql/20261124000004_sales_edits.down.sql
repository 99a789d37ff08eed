ALTER TABLE sales
  DROP COLUMN archived_at,
  DROP COLUMN updated_at
