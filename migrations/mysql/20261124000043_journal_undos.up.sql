-- Which row of the journal was taken back by which. Beside the journal, whose own rows are never changed.
CREATE TABLE journal_undos (
  seq       BIGINT NOT NULL PRIMARY KEY,
  undone_by BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
