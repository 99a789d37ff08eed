-- One row per order id. The state of the row decides the order (I1). Instants are Unix ms, 0 = not set.
CREATE TABLE IF NOT EXISTS orders (
  id                INTEGER NOT NULL PRIMARY KEY,
  sale_id           INTEGER NOT NULL,
  user_id           INTEGER NOT NULL,
  part              INTEGER NOT NULL,
  seq               INTEGER NOT NULL, -- number of the reservation within its partition
  ticket            INTEGER NOT NULL, -- number of the reservation within its sale
  hold              INTEGER NOT NULL, -- returns are keyed by (order, hold) (I3)
  qty               INTEGER NOT NULL,
  price_fen         INTEGER NOT NULL,
  amount_fen        INTEGER NOT NULL,
  refunded_fen      INTEGER NOT NULL DEFAULT 0, -- part of amount_fen; the state is `refunded` when all is refunded
  sale_version      INTEGER NOT NULL, -- version of the sale from which the price is
  state             TEXT NOT NULL CHECK (length(state) <= 12),
  rev               INTEGER NOT NULL, -- grows with each new state
  published_rev     INTEGER NOT NULL, -- the last rev that was published to the buyer
  unpublished_since INTEGER NULL,     -- when the newest, unpublished state was committed (F3); NULL: published
  created_at        INTEGER NOT NULL,
  pay_by            INTEGER NOT NULL,
  paid_at           INTEGER NOT NULL,
  cancelled_at      INTEGER NOT NULL, -- also the instant of expiry
  trade_opened      INTEGER NOT NULL, -- set before the payment gateway is first contacted
  idem_key          TEXT NULL CHECK (length(idem_key) <= 64), -- NULL: refused because of its key
  content_hash      TEXT NOT NULL CHECK (length(content_hash) <= 64),
  trade_no          TEXT NOT NULL CHECK (length(trade_no) <= 64),
  tracking          TEXT NOT NULL CHECK (length(tracking) <= 64),
  reason            TEXT NOT NULL CHECK (length(reason) <= 200),
  product_name      TEXT NOT NULL CHECK (length(product_name) <= 200),
  address           TEXT NULL, -- JSON
  -- Unix ms: the last change of state, rev or reason (F1). Triggers set it: SQLite has no ON UPDATE. No index: a replay
  -- reads the few orders of one buyer.
  changed_at        INTEGER NOT NULL DEFAULT 0,
  inserted_at       INTEGER NOT NULL DEFAULT 0, -- the beginning of the row's first state; 0: a recovery wrote the row
  -- one order per key of a buyer (P4); all rows of a sale
  UNIQUE (sale_id, user_id, idem_key)
) STRICT
--bun:split
CREATE TRIGGER IF NOT EXISTS orders_written AFTER INSERT ON orders BEGIN
  UPDATE orders SET changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END
--bun:split
CREATE TRIGGER IF NOT EXISTS orders_changed AFTER UPDATE OF state, rev, reason ON orders
WHEN (OLD.state, OLD.rev, OLD.reason) <> (NEW.state, NEW.rev, NEW.reason) BEGIN
  UPDATE orders SET changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END
--bun:split
-- a buyer's orders, newest first
CREATE INDEX IF NOT EXISTS orders_user ON orders (user_id, id)
--bun:split
-- all orders of a sale, page by page in the order of ids
CREATE INDEX IF NOT EXISTS orders_sale ON orders (sale_id, id)
--bun:split
-- pending orders by deadline, without orders in other states
CREATE INDEX IF NOT EXISTS orders_due ON orders (pay_by) WHERE state = 'pending'
--bun:split
-- orders of a state; orders_due has only the pending ones
CREATE INDEX IF NOT EXISTS orders_state ON orders (state, pay_by)
--bun:split
-- unpublished states
CREATE INDEX IF NOT EXISTS orders_unpublished ON orders (unpublished_since) WHERE unpublished_since IS NOT NULL
--bun:split
-- Sums of the orders that stampede order prune deleted, so that a sale still balances.
CREATE TABLE IF NOT EXISTS pruned_orders (
  sale_id      INTEGER NOT NULL PRIMARY KEY,
  orders       INTEGER NOT NULL,
  sold         INTEGER NOT NULL, -- units
  gone         INTEGER NOT NULL, -- units of refunded orders
  max_ticket   INTEGER NOT NULL,
  max_seq      INTEGER NOT NULL,
  paid_fen     INTEGER NOT NULL,
  refunded_fen INTEGER NOT NULL
) STRICT
--bun:split
-- Orders about which a recovery has no proof; an operator settles them (app/recovery). A recovery adds rows and never
-- deletes one.
CREATE TABLE IF NOT EXISTS problems (
  order_id   INTEGER NOT NULL PRIMARY KEY,
  sale_id    INTEGER NOT NULL,
  part       INTEGER NOT NULL,
  user_id    INTEGER NOT NULL,
  reason     TEXT NOT NULL,                -- for operators
  entry      TEXT NULL,                    -- JSON of the order's entry; NULL: the order has a row
  found_at   INTEGER NOT NULL,             -- Unix ms
  decision   TEXT NOT NULL DEFAULT '',     -- recovery.Settlement; '': open
  decided_at INTEGER NOT NULL DEFAULT 0,   -- Unix ms
  decided_by INTEGER NOT NULL DEFAULT 0    -- user id of the operator; 0: the command line
) STRICT
--bun:split
CREATE INDEX IF NOT EXISTS problems_open ON problems (decided_at, part)
--bun:split
CREATE INDEX IF NOT EXISTS problems_user ON problems (user_id, decided_at)
