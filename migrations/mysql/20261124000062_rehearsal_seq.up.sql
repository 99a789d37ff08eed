-- PartitionEpoch: the highest number of a reservation that a row of its sale had, for what Redis must know (I8): the rows
-- themselves are gone.
ALTER TABLE rehearsals ADD COLUMN seq BIGINT NOT NULL DEFAULT 0
