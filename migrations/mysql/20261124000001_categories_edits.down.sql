ALTER TABLE categories
  DROP COLUMN archived_at,
  DROP COLUMN updated_at,
  DROP COLUMN version
