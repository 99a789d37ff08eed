-- The state of each Redis partition.
CREATE TABLE IF NOT EXISTS partitions (
  id              INTEGER NOT NULL PRIMARY KEY,
  -- grows with every rebuild; transactions that carry an older epoch are rejected
  epoch           INTEGER NOT NULL,
  -- Unix ms: new orders with a changed_at before it are published; 0: unknown. A rebuild touches only rows with
  -- a later changed_at.
  published_until INTEGER NOT NULL DEFAULT 0,
  -- the highest reservation number of an order whose sale was removed from Redis (I8). The seq of a
  -- sale that is still in Redis is in its row in sales.
  seq             INTEGER NOT NULL DEFAULT 0,
  -- the generation of the history under which the partition was last inspected (app/recovery); its orders change only
  -- in the current generation
  generation      INTEGER NOT NULL DEFAULT 0,
  -- how many changes of sales the partition had in Redis at the last beat, apart from reservations (I8)
  changes         INTEGER NOT NULL DEFAULT 0
) STRICT
--bun:split
-- Leases of the node numbers in ids. Times are Unix ms of the database's clock.
CREATE TABLE IF NOT EXISTS node_leases (
  node       INTEGER NOT NULL PRIMARY KEY,
  holder     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  last_ms    INTEGER NOT NULL, -- the last millisecond for ids of the holder; the next holder starts at last_ms + 1
  serves     INTEGER NOT NULL DEFAULT 0, -- 1: the holder serves shoppers; such nodes divide the limits of the shop
  redis_at   INTEGER NOT NULL DEFAULT 0 -- when the holder last saw the data of this shop in its Redis; 0: it does not
) STRICT
--bun:split
-- The history of the database, in one row. Each partition in Redis has a copy (app/recovery).
CREATE TABLE IF NOT EXISTS history (
  id         INTEGER NOT NULL PRIMARY KEY,
  server     TEXT NOT NULL,    -- the server for which the last recovery ran, 8 hex digits
  generation INTEGER NOT NULL, -- grows with each recovery of the database
  beat       INTEGER NOT NULL, -- grows every two seconds while nodes run
  beat_at    INTEGER NOT NULL DEFAULT 0, -- when the beat was raised, Unix ms of this server's clock; 0: never
  stopped    INTEGER NOT NULL DEFAULT 0, -- 1: the last node stopped as planned; no doubt begins
  -- Unix ms: pending orders that were created until then end by a close at the gateway, like orders with an opened
  -- payment, because a store may have lost the writes about their payments
  doubt_until INTEGER NOT NULL DEFAULT 0,
  listed_until INTEGER NOT NULL DEFAULT 0, -- Unix ms: the gateway's lists were compared until then
  listing_at   INTEGER NOT NULL DEFAULT 0  -- Unix ms: when a node began the last comparison
) STRICT
