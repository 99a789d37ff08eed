-- What the orders of a month that was dropped added up to, sale by sale: so that a sale whose orders are gone still
-- balances. dropped_at 0: they are about to be dropped, and still count by themselves.
CREATE TABLE archive_drops (
  month         INTEGER NOT NULL, -- of UTC, like 202611
  sale_id       INTEGER NOT NULL,
  orders        INTEGER NOT NULL,
  sold          INTEGER NOT NULL, -- units
  gone          INTEGER NOT NULL, -- units of refunded orders
  max_ticket    INTEGER NOT NULL,
  max_seq       INTEGER NOT NULL,
  paid_fen      INTEGER NOT NULL,
  refunded_fen  INTEGER NOT NULL,
  planned_at    INTEGER NOT NULL,
  dropped_at    INTEGER NOT NULL,
  PRIMARY KEY (month, sale_id)
) STRICT
--bun:split
CREATE INDEX archive_drops_sale ON archive_drops (sale_id, dropped_at)
--bun:split
CREATE INDEX archive_drops_due ON archive_drops (dropped_at, month)
