-- Orders for which the payment gateway may have been contacted, and when it is asked about them next. Instants are Unix ms.
CREATE TABLE trades (
  order_id   INTEGER NOT NULL PRIMARY KEY, -- also the trade's number in the shop's name
  opened_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- after it the gateway takes no money for this trade
  check_at   INTEGER NULL      -- NULL: its last word is known
) STRICT
--bun:split
-- ClaimTrades
CREATE INDEX trades_due ON trades (check_at) WHERE check_at IS NOT NULL
--bun:split
-- the trades of a day, in their order
CREATE INDEX trades_opened ON trades (opened_at, order_id)
