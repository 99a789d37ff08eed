-- Orders whose trade may exist at the payment gateway, and the time of the next query. opened_at is 0 if no opened payment
-- is known: the order is in doubt (see history). Instants are Unix ms.
CREATE TABLE IF NOT EXISTS trades (
  order_id   INTEGER NOT NULL PRIMARY KEY, -- also the shop's number of the trade
  opened_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- the gateway accepts no payment after it
  check_at   INTEGER NULL,     -- NULL: the state is final
  ended      INTEGER NOT NULL DEFAULT 0 -- 1: expired when the next query was planned; payable trades come first
) STRICT
--bun:split
-- due trades
CREATE INDEX IF NOT EXISTS trades_turn ON trades (ended, check_at) WHERE check_at IS NOT NULL
--bun:split
-- the trades of a day, sorted by opening
CREATE INDEX IF NOT EXISTS trades_opened ON trades (opened_at, order_id)
--bun:split
-- Payments that the gateway reported: one row per trade, even if it changes no order. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS payments (
  trade_no   TEXT NOT NULL PRIMARY KEY CHECK (length(trade_no) <= 64), -- the gateway's number
  order_id   INTEGER NOT NULL, -- reported by the gateway: the order may not exist
  amount_fen INTEGER NOT NULL, -- reported by the gateway: may differ from the order's amount
  paid_at    INTEGER NOT NULL, -- by the gateway's clock
  seen_at    INTEGER NOT NULL, -- when the shop received the first report
  outcome    TEXT NOT NULL CHECK (length(outcome) <= 16), -- see payment.Outcome
  unsettled_since INTEGER NULL -- late money without a decision; NULL: settled
) STRICT
--bun:split
-- the payments of an order
CREATE INDEX IF NOT EXISTS payments_order ON payments (order_id)
--bun:split
-- unsettled payments
CREATE INDEX IF NOT EXISTS payments_unsettled ON payments (unsettled_since) WHERE unsettled_since IS NOT NULL
--bun:split
-- the payments of a day, sorted by time
CREATE INDEX IF NOT EXISTS payments_paid ON payments (paid_at, trade_no)
--bun:split
-- payments that operators must check
CREATE INDEX IF NOT EXISTS payments_outcome ON payments (outcome, seen_at)
--bun:split
-- The refunds of an order, at most one of which is not done. An order has one trade, and the gateway identifies a refund
-- by its request number. A declined refund may be requested again. Instants are Unix ms, 0 = not yet.
CREATE TABLE IF NOT EXISTS refunds (
  -- the refund's number at the gateway: R and the order id, for later refunds also - and a number
  request    TEXT NOT NULL PRIMARY KEY CHECK (length(request) <= 64),
  order_id   INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (length(state) <= 12), -- `requested`, `open`, `stuck`, `done`, `declined`
  amount_fen INTEGER NOT NULL,
  reason     TEXT NOT NULL CHECK (length(reason) <= 200), -- a code of the program, or the buyer's text
  requested_by   INTEGER NOT NULL, -- a user; 0: the program, for late money
  requested_at   INTEGER NOT NULL,
  decided_by INTEGER NOT NULL, -- an operator; 0: undecided, or decided by policy
  decided_at INTEGER NOT NULL,
  done_at    INTEGER NOT NULL,
  attempts   INTEGER NOT NULL,
  next_at    INTEGER NULL,     -- the next request to the gateway; NULL: none
  note       TEXT NOT NULL CHECK (length(note) <= 200) -- result of the last attempt, or the operator's note
) STRICT
--bun:split
CREATE INDEX IF NOT EXISTS refunds_order ON refunds (order_id)
--bun:split
-- due refunds
CREATE INDEX IF NOT EXISTS refunds_due ON refunds (next_at) WHERE next_at IS NOT NULL
--bun:split
-- refunds of a state, newest first
CREATE INDEX IF NOT EXISTS refunds_state ON refunds (state, order_id)
--bun:split
-- Differences between the shop and the gateway. Each comparison of an order replaces its rows.
CREATE TABLE IF NOT EXISTS differences (
  order_id INTEGER NOT NULL,
  kind     TEXT NOT NULL, -- see payment.PayDifference
  message  TEXT NOT NULL,
  found_at INTEGER NOT NULL, -- Unix ms
  PRIMARY KEY (order_id, kind)
) STRICT
--bun:split
-- Sales that a restore of a backup paused. They continue when the gateway's lists were compared until resume_at.
CREATE TABLE IF NOT EXISTS restored_sales (
  sale_id   INTEGER NOT NULL PRIMARY KEY,
  version   INTEGER NOT NULL, -- of the paused sale; with another one, an operator has changed it
  resume_at INTEGER NOT NULL  -- Unix ms
) STRICT
