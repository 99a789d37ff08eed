ALTER TABLE sales
  DROP KEY sales_blank,
  DROP KEY sales_archive,
  DROP COLUMN blank_at,
  DROP COLUMN archive_at,
  DROP COLUMN moved_at
