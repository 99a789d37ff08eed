-- The move of units between two portions of a sale, of which one is under way at a time, or the last one that was
CREATE TABLE portion_moves (
  sale_id BIGINT      NOT NULL PRIMARY KEY,
  no      BIGINT      NOT NULL DEFAULT 0,  -- grows with each move
  state   VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- done, asked, taken
  from_id BIGINT      NOT NULL DEFAULT 0,  -- portions, and their partitions
  from_part INT       NOT NULL DEFAULT 0,
  to_id   BIGINT      NOT NULL DEFAULT 0,
  to_part INT         NOT NULL DEFAULT 0,
  units   BIGINT      NOT NULL DEFAULT 0,  -- asked for
  taken   BIGINT      NOT NULL DEFAULT 0   -- at most so many: what was free
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
