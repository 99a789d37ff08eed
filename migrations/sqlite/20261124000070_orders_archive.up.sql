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
--bun:split
CREATE INDEX orders_archive_untold ON orders_archive (untold_since)
--bun:split
CREATE TRIGGER orders_archive_changed AFTER UPDATE OF state, rev, reason ON orders_archive
WHEN (OLD.state, OLD.rev, OLD.reason) <> (NEW.state, NEW.rev, NEW.reason) BEGIN
  UPDATE orders_archive SET changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END
