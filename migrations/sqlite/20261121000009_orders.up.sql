-- One order id = one row, never deleted; its state is the order's only fate (I1).
-- Instants are Unix ms, 0 = not set.
CREATE TABLE orders (
  id           INTEGER NOT NULL PRIMARY KEY,
  sale_id      INTEGER NOT NULL,
  user_id      INTEGER NOT NULL,
  part         INTEGER NOT NULL,
  seq          INTEGER NOT NULL, -- number of the reservation within its partition
  ticket       INTEGER NOT NULL, -- number of the reservation within its sale
  hold         INTEGER NOT NULL, -- returns are keyed by (order, hold) (I3)
  qty          INTEGER NOT NULL,
  price_fen    INTEGER NOT NULL,
  amount_fen   INTEGER NOT NULL,
  sale_version INTEGER NOT NULL, -- of the sale that set the price
  state        TEXT NOT NULL CHECK (length(state) <= 12),
  rev          INTEGER NOT NULL, -- grows with each state
  told_rev     INTEGER NOT NULL, -- the last rev whose event is in the buyer's log
  untold_since INTEGER NULL,     -- when the state changed that no log has yet; NULL: all told
  created_at   INTEGER NOT NULL,
  pay_by       INTEGER NOT NULL,
  paid_at      INTEGER NOT NULL,
  cancelled_at INTEGER NOT NULL, -- also the instant of expiry
  trade_opened INTEGER NOT NULL, -- set before the payment gateway is first contacted
  idem_key     TEXT NULL CHECK (length(idem_key) <= 64), -- NULL: refused because of its key
  content_hash TEXT NOT NULL CHECK (length(content_hash) <= 64),
  trade_no     TEXT NOT NULL CHECK (length(trade_no) <= 64),
  tracking     TEXT NOT NULL CHECK (length(tracking) <= 64),
  reason       TEXT NOT NULL CHECK (length(reason) <= 200),
  product_name TEXT NOT NULL CHECK (length(product_name) <= 200),
  address      TEXT NULL, -- JSON
  -- Insert: one order per key of a buyer (P4); SaleTotals: all rows of a sale
  UNIQUE (sale_id, user_id, idem_key)
) STRICT
--bun:split
-- OrdersOf: a buyer's orders, newest first
CREATE INDEX orders_user ON orders (user_id, id)
--bun:split
-- OrdersOfSale: a walk through a sale in the order of ids
CREATE INDEX orders_sale ON orders (sale_id, id)
--bun:split
-- Overdue: pending orders by deadline; here an index can leave the others out
CREATE INDEX orders_due ON orders (pay_by) WHERE state = 'pending'
--bun:split
-- Untold
CREATE INDEX orders_untold ON orders (untold_since) WHERE untold_since IS NOT NULL
