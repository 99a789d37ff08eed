-- Which row of the journal was taken back by which. Beside the journal, whose own rows are never changed.
CREATE TABLE journal_undos (
  seq       INTEGER NOT NULL PRIMARY KEY,
  undone_by INTEGER NOT NULL
) STRICT
