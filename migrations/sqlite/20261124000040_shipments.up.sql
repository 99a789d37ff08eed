-- What was sent to a buyer: one parcel per order, the last one that was entered. Instants are Unix ms.
CREATE TABLE shipments (
  order_id   INTEGER NOT NULL PRIMARY KEY,
  carrier    TEXT NOT NULL CHECK (length(carrier) <= 24),
  tracking   TEXT NOT NULL CHECK (length(tracking) <= 39), -- the carrier's number
  shipped_at INTEGER NOT NULL,
  shipped_by INTEGER NOT NULL, -- an operator; 0: the command line
  finish_at  INTEGER NULL,     -- when the order finishes by itself; NULL: it is not shipped any more
  mail_at    INTEGER NULL      -- when its buyer is to be written to; NULL: the letter was handed over
) STRICT
--bun:split
-- FinishShipped: orders that are on their way
CREATE INDEX shipments_finish ON shipments (finish_at) WHERE finish_at IS NOT NULL
--bun:split
-- ClaimShipped
CREATE INDEX shipments_mail ON shipments (mail_at) WHERE mail_at IS NOT NULL
