-- One refund per order, of all that was paid: an order has one trade, and the gateway knows the refund by its request
-- number. A declined one may be asked for again. Instants are Unix ms, 0 = not yet.
CREATE TABLE refunds (
  order_id   INTEGER NOT NULL PRIMARY KEY,
  request    TEXT NOT NULL UNIQUE CHECK (length(request) <= 64), -- the number at the gateway
  state      TEXT NOT NULL CHECK (length(state) <= 12), -- asked, open, stuck, done, declined
  amount_fen INTEGER NOT NULL,
  reason     TEXT NOT NULL CHECK (length(reason) <= 200), -- a code of the program, or what the buyer wrote
  asked_by   INTEGER NOT NULL, -- a user; 0: the program itself, for late money
  asked_at   INTEGER NOT NULL,
  decided_by INTEGER NOT NULL, -- an operator; 0: nobody, or the program by its policy
  decided_at INTEGER NOT NULL,
  done_at    INTEGER NOT NULL,
  attempts   INTEGER NOT NULL,
  next_at    INTEGER NULL,     -- when the gateway is to be asked; NULL: there is nothing to ask
  note       TEXT NOT NULL CHECK (length(note) <= 200) -- what the last attempt or the operator said
) STRICT
--bun:split
-- ClaimRefunds
CREATE INDEX refunds_due ON refunds (next_at) WHERE next_at IS NOT NULL
--bun:split
-- Refunds: by state, newest first; RefundBacklog
CREATE INDEX refunds_state ON refunds (state, order_id)
