-- Rehearsals of sales: one that is not gone, at most. A row outlives its sale for a week, so that an entry of the stream
-- that comes late is known to be of a rehearsal, and becomes no order. Times are Unix ms of the database's clock.
CREATE TABLE rehearsals (
  sale_id    INTEGER NOT NULL PRIMARY KEY, -- the sale that was made for it
  of_sale    INTEGER NOT NULL,             -- the sale that is rehearsed
  part       INTEGER NOT NULL,
  shoppers   INTEGER NOT NULL,
  units      INTEGER NOT NULL,
  state      TEXT NOT NULL,    -- running, ending or gone
  began_at   INTEGER NOT NULL,
  alive_at   INTEGER NOT NULL, -- when whoever runs it said so last
  until_at   INTEGER NOT NULL, -- it ends then at the latest
  ended_at   INTEGER NOT NULL, -- 0: not yet
  started_by TEXT NOT NULL
) STRICT
--bun:split
-- Rehearsing, which nodes ask all the time
CREATE INDEX rehearsals_state ON rehearsals (state)
