-- Who is kept out: a user, an address or a network. A block that is removed keeps its row. Nodes read all rows in force
-- when the setting blocks_version has grown. Times are Unix ms.
CREATE TABLE blocks (
  id         INTEGER NOT NULL PRIMARY KEY,
  kind       TEXT NOT NULL,
  value      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  until      INTEGER,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT
