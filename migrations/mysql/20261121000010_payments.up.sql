-- Money that the gateway says it took: one row per trade, also when nothing else changes by it. Instants are Unix ms.
CREATE TABLE payments (
  trade_no   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, -- the gateway's number
  order_id   BIGINT NOT NULL, -- as the gateway names it: there need not be such an order
  amount_fen BIGINT NOT NULL, -- as the gateway says, whatever the order costs
  paid_at    BIGINT NOT NULL, -- by the gateway's clock
  seen_at    BIGINT NOT NULL, -- when the shop first heard of it
  outcome    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- what became of it, see app.PaymentOutcome
  unsettled_since BIGINT NULL, -- late money about which nothing is decided yet; NULL: all is done
  -- the payments of an order
  KEY payments_order (order_id),
  -- Unsettled: nearly all rows are NULL here
  KEY payments_unsettled (unsettled_since),
  -- the payments of a day, in their order
  KEY payments_paid (paid_at, trade_no),
  -- those that need a look by people
  KEY payments_outcome (outcome, seen_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
