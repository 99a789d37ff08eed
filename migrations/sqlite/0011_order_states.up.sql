-- States of orders whose instants no other table keeps: shipped before another parcel was entered; finished; cancelled
-- or expired before a late payment, and paid by it; pending after a dead letter was replayed; refund requests that
-- were declined and followed by another one. The row is written in the transaction that changed the order.
CREATE TABLE IF NOT EXISTS order_states (
  order_id INTEGER NOT NULL,
  at       INTEGER NOT NULL, -- Unix ms
  state    TEXT NOT NULL CHECK (length(state) <= 16), -- of the order, refund_asked or refund_declined
  PRIMARY KEY (order_id, at, state)
) STRICT
