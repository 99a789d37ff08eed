-- Units: initial + added = free + taken + withdrawn. taken changes only together with the row of an order (I5).
CREATE TABLE sales (
  id          INTEGER NOT NULL PRIMARY KEY,
  slot_id     INTEGER NOT NULL,
  product_id  INTEGER NOT NULL,
  position    INTEGER NOT NULL, -- within the slot
  part        INTEGER NOT NULL, -- the partition in Redis, fixed for ever
  price_fen   INTEGER NOT NULL,
  initial     INTEGER NOT NULL,
  added       INTEGER NOT NULL,
  withdrawn   INTEGER NOT NULL,
  taken       INTEGER NOT NULL, -- units of the rows that hold units: the guard against overselling
  seq         INTEGER NOT NULL, -- the highest number of a reservation that a row has (I8)
  buyer_limit INTEGER NOT NULL, -- units one buyer may hold
  buyer_cap   INTEGER NOT NULL, -- reservations one buyer may make
  opens_at    INTEGER NOT NULL, -- the effective window, Unix ms
  closes_at   INTEGER NOT NULL,
  paused      INTEGER NOT NULL,
  challenge   TEXT NOT NULL CHECK (length(challenge) <= 16),
  version     INTEGER NOT NULL, -- grows with each edit
  epoch       INTEGER NOT NULL, -- of the partition; 0: never loaded into Redis (I7)
  retired_at  INTEGER NOT NULL, -- 0: its keys are in Redis, if it was loaded
  created_at  INTEGER NOT NULL
) STRICT
--bun:split
-- SalesOfSlot, and how many sales a slot has
CREATE INDEX sales_slot ON sales (slot_id, position)
--bun:split
-- LoadedSales, PartitionEpoch and AdvanceEpoch; retired sales are most of them after a while
CREATE INDEX sales_part ON sales (part, retired_at, epoch)
--bun:split
-- SalesByPhase upcoming, in the order they open
CREATE INDEX sales_opens ON sales (opens_at, id)
--bun:split
-- SalesByPhase open and closed, by the end of the window
CREATE INDEX sales_closes ON sales (closes_at, id)
