-- Units: initial + added = free + taken + withdrawn. taken changes only together with the row of an order (I5).
CREATE TABLE sales (
  id          BIGINT NOT NULL PRIMARY KEY,
  slot_id     BIGINT NOT NULL,
  product_id  BIGINT NOT NULL,
  position    INT NOT NULL,    -- within the slot
  part        SMALLINT NOT NULL, -- the partition in Redis, fixed for ever
  price_fen   BIGINT NOT NULL,
  initial     BIGINT NOT NULL,
  added       BIGINT NOT NULL,
  withdrawn   BIGINT NOT NULL,
  taken       BIGINT NOT NULL, -- units of the rows that hold units: the guard against overselling
  seq         BIGINT NOT NULL, -- the highest number of a reservation that a row has (I8)
  buyer_limit INT NOT NULL,    -- units one buyer may hold
  buyer_cap   INT NOT NULL,    -- reservations one buyer may make
  opens_at    BIGINT NOT NULL, -- the effective window, Unix ms
  closes_at   BIGINT NOT NULL,
  paused      BOOLEAN NOT NULL,
  challenge   VARCHAR(16) NOT NULL,
  version     BIGINT NOT NULL, -- grows with each edit
  epoch       BIGINT NOT NULL, -- of the partition; 0: never loaded into Redis (I7)
  retired_at  BIGINT NOT NULL, -- 0: its keys are in Redis, if it was loaded
  created_at  BIGINT NOT NULL,
  -- SalesOfSlot, and how many sales a slot has
  KEY sales_slot (slot_id, position),
  -- LoadedSales, PartitionEpoch and AdvanceEpoch; retired sales are most of them after a while
  KEY sales_part (part, retired_at, epoch),
  -- SalesByPhase upcoming, in the order they open
  KEY sales_opens (opens_at, id),
  -- SalesByPhase open and closed, by the end of the window
  KEY sales_closes (closes_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
