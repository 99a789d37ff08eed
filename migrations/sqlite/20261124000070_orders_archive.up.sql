-- Orders of sales that closed long ago: rows move here as they are, and come back when something still happens to them.
-- A row is in one of the two tables (I1). SQLite has no partitions: this is a plain table.
CREATE TABLE orders_archive (
  id           INTEGER NOT NULL PRIMARY KEY,
  sale_id      INTEGER NOT NULL,
  user_id      INTEGER NOT NULL,
  part         INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  ticket       INTEGER NOT NULL,
  hold         INTEGER NOT NULL,
  qty          INTEGER NOT NULL,
  price_fen    INTEGER NOT NULL,
  amount_fen   INTEGER NOT NULL,
  sale_version INTEGER NOT NULL,
  state        TEXT NOT NULL,
  rev          INTEGER NOT NULL,
  told_rev     INTEGER NOT NULL,
  untold_since INTEGER NULL,
  created_at   INTEGER NOT NULL,
  pay_by       INTEGER NOT NULL,
  paid_at      INTEGER NOT NULL,
  cancelled_at INTEGER NOT NULL,
  trade_opened INTEGER NOT NULL,
  idem_key     TEXT NULL,
  content_hash TEXT NOT NULL,
  trade_no     TEXT NOT NULL,
  tracking     TEXT NOT NULL,
  reason       TEXT NOT NULL,
  product_name TEXT NOT NULL,
  address      TEXT NULL,
  changed_at   INTEGER NOT NULL, -- as it was; moving is no change
  moved_at     INTEGER NOT NULL
) STRICT
--bun:split
CREATE INDEX orders_archive_user ON orders_archive (user_id, id)
--bun:split
CREATE INDEX orders_archive_sale ON orders_archive (sale_id, id)
--bun:split
CREATE INDEX orders_archive_state ON orders_archive (state, pay_by, id)
