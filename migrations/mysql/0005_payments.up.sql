-- Orders whose trade may exist at the payment gateway, and the time of the next query. opened_at is 0 if no opened payment
-- is known: the order is in doubt (see history). Instants are Unix ms.
CREATE TABLE IF NOT EXISTS trades (
  order_id   BIGINT NOT NULL PRIMARY KEY, -- also the shop's number of the trade
  opened_at  BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, -- the gateway accepts no payment after it
  check_at   BIGINT NULL,     -- NULL: the state is final
  ended      TINYINT NOT NULL DEFAULT 0, -- 1: expired when the next query was planned; payable trades come first
  -- due trades; nearly all rows have no check_at
  KEY trades_turn (ended, check_at),
  -- the trades of a day, sorted by opening
  KEY trades_opened (opened_at, order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Payments that the gateway reported: one row per trade, even if it changes no order. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS payments (
  trade_no   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, -- the gateway's number
  order_id   BIGINT NOT NULL, -- reported by the gateway: the order may not exist
  amount_fen BIGINT NOT NULL, -- reported by the gateway: may differ from the order's amount
  paid_at    BIGINT NOT NULL, -- by the gateway's clock
  seen_at    BIGINT NOT NULL, -- when the shop received the first report
  outcome    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- see payment.Outcome
  unsettled_since BIGINT NULL, -- late money without a decision; NULL: settled
  -- the payments of an order
  KEY payments_order (order_id),
  -- unsettled payments; nearly all rows are NULL
  KEY payments_unsettled (unsettled_since),
  -- the payments of a day, sorted by time
  KEY payments_paid (paid_at, trade_no),
  -- payments that operators must check
  KEY payments_outcome (outcome, seen_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- The refunds of an order, at most one of which is not done. An order has one trade, and the gateway identifies a refund
-- by its request number. A declined refund may be requested again. Instants are Unix ms, 0 = not yet.
CREATE TABLE IF NOT EXISTS refunds (
  -- the refund's number at the gateway: R and the order id, for later refunds also - and a number
  request    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  order_id   BIGINT NOT NULL,
  state      VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- `requested`, `open`, `stuck`, `done`, `declined`
  amount_fen BIGINT NOT NULL,
  reason     VARCHAR(200) NOT NULL, -- a code of the program, or the buyer's text
  requested_by   BIGINT NOT NULL,       -- a user; 0: the program, for late money
  requested_at   BIGINT NOT NULL,
  decided_by BIGINT NOT NULL,       -- an operator; 0: undecided, or decided by policy
  decided_at BIGINT NOT NULL,
  done_at    BIGINT NOT NULL,
  attempts   INT NOT NULL,
  next_at    BIGINT NULL,           -- the next request to the gateway; NULL: none
  note       VARCHAR(200) NOT NULL, -- result of the last attempt, or the operator's note
  KEY refunds_order (order_id),
  -- due refunds; nearly all rows are NULL
  KEY refunds_due (next_at),
  -- refunds of a state, newest first
  KEY refunds_state (state, order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Differences between the shop and the gateway. Each comparison of an order replaces its rows.
CREATE TABLE IF NOT EXISTS differences (
  order_id BIGINT NOT NULL,
  kind     VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- see payment.PayDifference
  message  VARCHAR(400) NOT NULL,
  found_at BIGINT NOT NULL, -- Unix ms
  PRIMARY KEY (order_id, kind)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Sales that a restore of a backup paused. They continue when the gateway's lists were compared until resume_at.
CREATE TABLE IF NOT EXISTS restored_sales (
  sale_id   BIGINT NOT NULL PRIMARY KEY,
  version   BIGINT NOT NULL, -- of the paused sale; with another one, an operator has changed it
  resume_at BIGINT NOT NULL  -- Unix ms
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
