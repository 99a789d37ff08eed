-- One refund per order, of all that was paid: an order has one trade, and the gateway knows the refund by its request
-- number. A declined one may be asked for again. Instants are Unix ms, 0 = not yet.
CREATE TABLE refunds (
  order_id   BIGINT NOT NULL PRIMARY KEY,
  request    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- the number at the gateway
  state      VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- asked, open, stuck, done, declined
  amount_fen BIGINT NOT NULL,
  reason     VARCHAR(200) NOT NULL, -- a code of the program, or what the buyer wrote
  asked_by   BIGINT NOT NULL,       -- a user; 0: the program itself, for late money
  asked_at   BIGINT NOT NULL,
  decided_by BIGINT NOT NULL,       -- an operator; 0: nobody, or the program by its policy
  decided_at BIGINT NOT NULL,
  done_at    BIGINT NOT NULL,
  attempts   INT NOT NULL,
  next_at    BIGINT NULL,           -- when the gateway is to be asked; NULL: there is nothing to ask
  note       VARCHAR(200) NOT NULL, -- what the last attempt or the operator said
  UNIQUE KEY refunds_request (request),
  -- ClaimRefunds: nearly all rows are NULL here
  KEY refunds_due (next_at),
  -- Refunds: by state, newest first; RefundBacklog
  KEY refunds_state (state, order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
