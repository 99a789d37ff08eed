-- Orders for which the payment gateway may have been contacted, and when it is asked about them next. Instants are Unix ms.
CREATE TABLE trades (
  order_id   BIGINT NOT NULL PRIMARY KEY, -- also the trade's number in the shop's name
  opened_at  BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, -- after it the gateway takes no money for this trade
  check_at   BIGINT NULL,     -- NULL: its last word is known
  -- ClaimTrades: nearly all rows are NULL here
  KEY trades_due (check_at),
  -- the trades of a day, in their order
  KEY trades_opened (opened_at, order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
