-- The move of units between two portions of a sale, of which one is under way at a time, or the last one that was
CREATE TABLE portion_moves (
  sale_id INTEGER NOT NULL PRIMARY KEY,
  no      INTEGER NOT NULL DEFAULT 0, -- grows with each move
  state   TEXT    NOT NULL,           -- done, asked, taken
  from_id INTEGER NOT NULL DEFAULT 0, -- portions, and their partitions
  from_part INTEGER NOT NULL DEFAULT 0,
  to_id   INTEGER NOT NULL DEFAULT 0,
  to_part INTEGER NOT NULL DEFAULT 0,
  units   INTEGER NOT NULL DEFAULT 0, -- asked for
  taken   INTEGER NOT NULL DEFAULT 0  -- at most so many: what was free
) STRICT
