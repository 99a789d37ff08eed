-- The last row of the journal: one row, locked for each act, so that acts go one after the other.
CREATE TABLE journal_head (
  id   INT NOT NULL PRIMARY KEY,
  seq  BIGINT NOT NULL,
  hash VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
