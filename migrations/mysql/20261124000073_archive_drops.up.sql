-- What the orders of a month that was dropped added up to, sale by sale: so that a sale whose orders are gone still
-- balances. dropped_at 0: they are about to be dropped, and still count by themselves.
CREATE TABLE archive_drops (
  month         INT NOT NULL, -- of UTC, like 202611
  sale_id       BIGINT NOT NULL,
  orders        BIGINT NOT NULL,
  sold          BIGINT NOT NULL, -- units
  gone          BIGINT NOT NULL, -- units of refunded orders
  max_ticket    BIGINT NOT NULL,
  max_seq       BIGINT NOT NULL,
  paid_fen      BIGINT NOT NULL,
  refunded_fen  BIGINT NOT NULL,
  planned_at    BIGINT NOT NULL,
  dropped_at    BIGINT NOT NULL,
  PRIMARY KEY (month, sale_id),
  -- SaleTotals, SumUp
  KEY archive_drops_sale (sale_id, dropped_at),
  -- what a crash left
  KEY archive_drops_due (dropped_at, month)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
