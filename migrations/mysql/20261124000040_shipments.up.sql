-- What was sent to a buyer: one parcel per order, the last one that was entered. Instants are Unix ms.
CREATE TABLE shipments (
  order_id   BIGINT NOT NULL PRIMARY KEY,
  carrier    VARCHAR(24) NOT NULL,
  tracking   VARCHAR(39) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- the carrier's number
  shipped_at BIGINT NOT NULL,
  shipped_by BIGINT NOT NULL, -- an operator; 0: the command line
  finish_at  BIGINT NULL,     -- when the order finishes by itself; NULL: it is not shipped any more
  mail_at    BIGINT NULL,     -- when its buyer is to be written to; NULL: the letter was handed over
  -- FinishShipped: orders that are on their way
  KEY shipments_finish (finish_at),
  -- ClaimShipped: nearly all rows are NULL here
  KEY shipments_mail (mail_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
