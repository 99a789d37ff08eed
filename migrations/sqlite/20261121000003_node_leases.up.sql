-- Who may mint ids under which node number, and until when. last_ms is the last millisecond that the
-- holder may use in an id; whoever comes next starts above it. Times are the database's clock in Unix ms.
CREATE TABLE node_leases (
  node       INTEGER NOT NULL PRIMARY KEY,
  holder     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  last_ms    INTEGER NOT NULL
) STRICT
