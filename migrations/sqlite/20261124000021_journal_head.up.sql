-- The last row of the journal: one row, changed with each act.
CREATE TABLE journal_head (
  id   INTEGER NOT NULL PRIMARY KEY,
  seq  INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT
