-- The epoch of each partition: it grows with every rebuild and fences transactions that know an older one.
CREATE TABLE partitions (
  id    SMALLINT NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
