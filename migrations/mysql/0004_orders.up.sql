-- One row per order id. The state of the row decides the order (I1). Instants are Unix ms, 0 = not set. Ids come from
-- the program: no AUTO_INCREMENT on a bulk table. Columns with a default are omitted by INSERT, which shortens the
-- statement of hundreds of new orders by a third.
CREATE TABLE IF NOT EXISTS orders (
  id                BIGINT NOT NULL PRIMARY KEY,
  sale_id           BIGINT NOT NULL,
  user_id           BIGINT NOT NULL,
  part              SMALLINT NOT NULL,
  seq               BIGINT NOT NULL, -- number of the reservation within its partition
  ticket            BIGINT NOT NULL, -- number of the reservation within its sale
  hold              BIGINT NOT NULL DEFAULT 1, -- returns are keyed by (order, hold) (I3)
  qty               INT NOT NULL DEFAULT 1,
  price_fen         BIGINT NOT NULL,
  amount_fen        BIGINT NOT NULL,
  refunded_fen      BIGINT NOT NULL DEFAULT 0, -- part of amount_fen; the state is `refunded` when all is refunded
  sale_version      BIGINT NOT NULL, -- version of the sale from which the price is
  state             VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  rev               BIGINT NOT NULL DEFAULT 1, -- grows with each new state
  published_rev     BIGINT NOT NULL DEFAULT 1, -- the last rev that was published to the buyer
  unpublished_since BIGINT NULL,     -- when the newest, unpublished state was committed (F3); NULL: published
  created_at        BIGINT NOT NULL,
  pay_by            BIGINT NOT NULL,
  paid_at           BIGINT NOT NULL DEFAULT 0,
  cancelled_at      BIGINT NOT NULL DEFAULT 0, -- also the instant of expiry
  trade_opened      BIGINT NOT NULL DEFAULT 0, -- set before the payment gateway is first contacted
  idem_key          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL, -- NULL: refused because of its key
  content_hash      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  trade_no          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  tracking          VARCHAR(64) NOT NULL DEFAULT '',
  reason            VARCHAR(200) NOT NULL DEFAULT '',
  product_name      VARCHAR(200) NOT NULL,
  address           TEXT NULL, -- JSON
  -- The last change of the row by this server's clock (F1). No index: a replay reads the few orders of one buyer, and
  -- an index would slow every write. TIMESTAMP: UNIX_TIMESTAMP returns the stored value in any session time zone. The
  -- type ends in January 2038. Updates without a new state set changed_at = changed_at.
  changed_at        TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  inserted_at       BIGINT NOT NULL DEFAULT 0, -- the beginning of the row's first state; 0: a recovery wrote the row
  -- one order per key of a buyer (P4); also the orders of a buyer, so that no key (user_id, id) is needed
  UNIQUE KEY orders_key (user_id, sale_id, idem_key),
  -- all orders of a sale, page by page in the order of ids
  KEY orders_sale (sale_id, id),
  -- pending orders by deadline; orders of a state
  KEY orders_due (state, pay_by),
  -- unpublished states; nearly all rows are NULL
  KEY orders_unpublished (unpublished_since)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Sums of the orders that stampede order prune deleted, so that a sale still balances.
CREATE TABLE IF NOT EXISTS pruned_orders (
  sale_id      BIGINT NOT NULL PRIMARY KEY,
  orders       BIGINT NOT NULL,
  sold         BIGINT NOT NULL, -- units
  gone         BIGINT NOT NULL, -- units of refunded orders
  max_ticket   BIGINT NOT NULL,
  max_seq      BIGINT NOT NULL,
  paid_fen     BIGINT NOT NULL,
  refunded_fen BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Orders about which a recovery has no proof; an operator settles them (app/recovery). A recovery adds rows and never
-- deletes one.
CREATE TABLE IF NOT EXISTS problems (
  order_id   BIGINT NOT NULL PRIMARY KEY,
  sale_id    BIGINT NOT NULL,
  part       SMALLINT NOT NULL,
  user_id    BIGINT NOT NULL,
  reason     VARCHAR(400) NOT NULL,  -- for operators
  entry      TEXT NULL,              -- JSON of the order's entry; NULL: the order has a row
  found_at   BIGINT NOT NULL,        -- Unix ms
  decision   VARCHAR(12) NOT NULL DEFAULT '', -- recovery.Settlement; '': open
  decided_at BIGINT NOT NULL DEFAULT 0,       -- Unix ms
  decided_by BIGINT NOT NULL DEFAULT 0,       -- user id of the operator; 0: the command line
  KEY problems_open (decided_at, part),
  KEY problems_user (user_id, decided_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
