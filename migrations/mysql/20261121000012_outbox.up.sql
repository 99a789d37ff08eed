-- What the shop's back office is to hear: an order was paid, or refunded. The row is written in the transaction that
-- changed the order, so that neither happens without the other; a duty appends it to the stream. Instants are Unix ms.
CREATE TABLE outbox (
  order_id BIGINT NOT NULL,
  rev      INT NOT NULL,    -- of the order, with that state
  state    VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- paid or refunded
  at       BIGINT NOT NULL,
  next_at  BIGINT NULL,     -- when it is to be appended; NULL: it is in the stream
  PRIMARY KEY (order_id, rev),
  -- ClaimPosts: nearly all rows are NULL here
  KEY outbox_due (next_at),
  -- Repost
  KEY outbox_at (at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
