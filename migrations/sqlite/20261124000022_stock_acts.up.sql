-- Units that operators take out of a sale. Redis decides how many are free, once for each id; the row is pending until the
-- sale's own count has them, too. Times are Unix ms.
CREATE TABLE stock_acts (
  id         INTEGER NOT NULL PRIMARY KEY,
  sale_id    INTEGER NOT NULL,
  units      INTEGER NOT NULL,
  taken      INTEGER NOT NULL,
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL
) STRICT
