-- The epoch of each partition: it grows with every rebuild and fences transactions that know an older one.
CREATE TABLE partitions (
  id    INTEGER NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL
) STRICT
