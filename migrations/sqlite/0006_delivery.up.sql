-- Events for the shop's back office: an order was paid or refunded. The row is written in the transaction that changed
-- the order; a background job appends it to the stream. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS outbox (
  order_id INTEGER NOT NULL,
  rev      INTEGER NOT NULL, -- rev of the order in this state
  state    TEXT NOT NULL CHECK (length(state) <= 12), -- paid or refunded
  at       INTEGER NOT NULL,
  next_at  INTEGER NULL,     -- the next attempt to append the event; NULL: appended
  sent_at  INTEGER NULL,     -- the mark of the stream when the event was appended; NULL: due
  PRIMARY KEY (order_id, rev)
) STRICT
--bun:split
-- due events
CREATE INDEX IF NOT EXISTS outbox_due ON outbox (next_at) WHERE next_at IS NOT NULL
--bun:split
-- the last mark, and events behind a mark, to send them again
CREATE INDEX IF NOT EXISTS outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL
--bun:split
-- One parcel per order: the last one that was entered. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS shipments (
  order_id   INTEGER NOT NULL PRIMARY KEY,
  carrier    TEXT NOT NULL CHECK (length(carrier) <= 24),
  tracking   TEXT NOT NULL CHECK (length(tracking) <= 39), -- the carrier's number
  shipped_at INTEGER NOT NULL,
  shipped_by INTEGER NOT NULL, -- an operator; 0: the command line
  finish_at  INTEGER NULL,     -- when the order finishes without the buyer; NULL: the order is not `shipped`
  mail_at    INTEGER NULL      -- when the e-mail to the buyer is due; NULL: given to the mail queue
) STRICT
--bun:split
-- shipped orders by the time they finish
CREATE INDEX IF NOT EXISTS shipments_finish ON shipments (finish_at) WHERE finish_at IS NOT NULL
--bun:split
-- due e-mails
CREATE INDEX IF NOT EXISTS shipments_mail ON shipments (mail_at) WHERE mail_at IS NOT NULL
