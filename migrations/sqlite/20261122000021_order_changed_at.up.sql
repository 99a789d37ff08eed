-- Changed: when the row got its newest state, Unix ms (F1). It has no index: a replay walks the orders of a buyer, who has few.
-- SQLite has no ON UPDATE, and a column that is added no default that is computed: triggers keep it.
ALTER TABLE orders ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0
--bun:split
CREATE TRIGGER orders_written AFTER INSERT ON orders BEGIN
  UPDATE orders SET changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END
--bun:split
CREATE TRIGGER orders_changed AFTER UPDATE OF state, rev, reason ON orders
WHEN (OLD.state, OLD.rev, OLD.reason) <> (NEW.state, NEW.rev, NEW.reason) BEGIN
  UPDATE orders SET changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END
