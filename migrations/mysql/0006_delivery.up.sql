-- Events for the shop's back office: an order was paid or refunded. The row is written in the transaction that changed
-- the order; a background job appends it to the stream. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS outbox (
  order_id BIGINT NOT NULL,
  rev      BIGINT NOT NULL,    -- rev of the order in this state
  state    VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- paid or refunded
  at       BIGINT NOT NULL,
  next_at  BIGINT NULL,     -- the next attempt to append the event; NULL: appended
  sent_at  BIGINT NULL,     -- the mark of the stream when the event was appended; NULL: due
  PRIMARY KEY (order_id, rev),
  -- due events; nearly all rows are NULL
  KEY outbox_due (next_at),
  -- the last mark, and events behind a mark, to send them again
  KEY outbox_sent (sent_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- One parcel per order: the last one that was entered. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS shipments (
  order_id   BIGINT NOT NULL PRIMARY KEY,
  carrier    VARCHAR(24) NOT NULL,
  tracking   VARCHAR(39) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- the carrier's number
  shipped_at BIGINT NOT NULL,
  shipped_by BIGINT NOT NULL, -- an operator; 0: the command line
  finish_at  BIGINT NULL,     -- when the order finishes without the buyer; NULL: the order is not `shipped`
  mail_at    BIGINT NULL,     -- when the e-mail to the buyer is due; NULL: given to the mail queue
  -- shipped orders by the time they finish
  KEY shipments_finish (finish_at),
  -- due e-mails; nearly all rows are NULL
  KEY shipments_mail (mail_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
