-- What the shop's back office is to hear: an order was paid, or refunded. The row is written in the transaction that
-- changed the order, so that neither happens without the other; a duty appends it to the stream. Instants are Unix ms.
CREATE TABLE outbox (
  order_id INTEGER NOT NULL,
  rev      INTEGER NOT NULL, -- of the order, with that state
  state    TEXT NOT NULL CHECK (length(state) <= 12), -- paid or refunded
  at       INTEGER NOT NULL,
  next_at  INTEGER NULL,     -- when it is to be appended; NULL: it is in the stream
  PRIMARY KEY (order_id, rev)
) STRICT
--bun:split
-- ClaimPosts
CREATE INDEX outbox_due ON outbox (next_at) WHERE next_at IS NOT NULL
--bun:split
-- Repost
CREATE INDEX outbox_at ON outbox (at)
