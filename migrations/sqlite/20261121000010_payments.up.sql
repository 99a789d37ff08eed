-- Money that the gateway says it took: one row per trade, also when nothing else changes by it. Instants are Unix ms.
CREATE TABLE payments (
  trade_no   TEXT NOT NULL PRIMARY KEY CHECK (length(trade_no) <= 64), -- the gateway's number
  order_id   INTEGER NOT NULL, -- as the gateway names it: there need not be such an order
  amount_fen INTEGER NOT NULL, -- as the gateway says, whatever the order costs
  paid_at    INTEGER NOT NULL, -- by the gateway's clock
  seen_at    INTEGER NOT NULL, -- when the shop first heard of it
  outcome    TEXT NOT NULL CHECK (length(outcome) <= 16), -- what became of it, see app.PaymentOutcome
  unsettled_since INTEGER NULL -- late money about which nothing is decided yet; NULL: all is done
) STRICT
--bun:split
-- the payments of an order
CREATE INDEX payments_order ON payments (order_id)
--bun:split
-- Unsettled
CREATE INDEX payments_unsettled ON payments (unsettled_since) WHERE unsettled_since IS NOT NULL
--bun:split
-- the payments of a day, in their order
CREATE INDEX payments_paid ON payments (paid_at, trade_no)
--bun:split
-- those that need a look by people
CREATE INDEX payments_outcome ON payments (outcome, seen_at)
