ALTER TABLE partitions DROP COLUMN told_until
