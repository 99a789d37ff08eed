-- One order id = one row, never deleted; its state is the order's only fate (I1).
-- Instants are Unix ms, 0 = not set. Ids come from the program: no AUTO_INCREMENT on a bulk table.
CREATE TABLE orders (
  id           BIGINT NOT NULL PRIMARY KEY,
  sale_id      BIGINT NOT NULL,
  user_id      BIGINT NOT NULL,
  part         SMALLINT NOT NULL,
  seq          BIGINT NOT NULL, -- number of the reservation within its partition
  ticket       BIGINT NOT NULL, -- number of the reservation within its sale
  hold         BIGINT NOT NULL, -- returns are keyed by (order, hold) (I3)
  qty          INT NOT NULL,
  price_fen    BIGINT NOT NULL,
  amount_fen   BIGINT NOT NULL,
  sale_version BIGINT NOT NULL, -- of the sale that set the price
  state        VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  rev          INT NOT NULL,    -- grows with each state
  told_rev     INT NOT NULL,    -- the last rev whose event is in the buyer's log
  untold_since BIGINT NULL,     -- when the state changed that no log has yet; NULL: all told
  created_at   BIGINT NOT NULL,
  pay_by       BIGINT NOT NULL,
  paid_at      BIGINT NOT NULL,
  cancelled_at BIGINT NOT NULL, -- also the instant of expiry
  trade_opened BIGINT NOT NULL, -- set before the payment gateway is first contacted
  idem_key     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL, -- NULL: refused because of its key
  content_hash VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  trade_no     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tracking     VARCHAR(64) NOT NULL,
  reason       VARCHAR(200) NOT NULL,
  product_name VARCHAR(200) NOT NULL,
  address      TEXT NULL, -- JSON
  -- Insert: one order per key of a buyer (P4); SaleTotals: all rows of a sale
  UNIQUE KEY orders_key (sale_id, user_id, idem_key),
  -- OrdersOf: a buyer's orders, newest first
  KEY orders_user (user_id, id),
  -- OrdersOfSale: a walk through a sale in the order of ids
  KEY orders_sale (sale_id, id),
  -- Overdue: pending orders by deadline
  KEY orders_due (state, pay_by),
  -- Untold: nearly all rows are NULL here, at the end that nobody reads
  KEY orders_untold (untold_since)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
