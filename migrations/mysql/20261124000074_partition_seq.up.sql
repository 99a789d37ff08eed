-- PartitionEpoch: the highest number of a reservation that a row had in a sale which Redis has no more, for what Redis must
-- know (I8). Sales that it has know theirs themselves.
ALTER TABLE partitions ADD COLUMN seq BIGINT NOT NULL DEFAULT 0
