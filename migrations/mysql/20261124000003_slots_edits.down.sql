ALTER TABLE slots
  DROP COLUMN updated_at,
  DROP COLUMN version
