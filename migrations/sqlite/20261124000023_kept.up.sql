-- A few small documents of operators that all nodes follow: how the switches stand, and the notice to shoppers.
CREATE TABLE kept (
  name    TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  body    TEXT NOT NULL
) STRICT
