CREATE TABLE archive_drops (
  sale_id INTEGER NOT NULL PRIMARY KEY,
  orders INTEGER NOT NULL,
  sold INTEGER NOT NULL,
  gone INTEGER NOT NULL,
  max_ticket INTEGER NOT NULL,
  max_seq INTEGER NOT NULL,
  paid_fen INTEGER NOT NULL,
  refunded_fen INTEGER NOT NULL,
  dropped_at INTEGER NOT NULL
) STRICT
