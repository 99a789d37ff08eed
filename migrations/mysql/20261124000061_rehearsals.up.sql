-- Rehearsals of sales: one that is not gone, at most. A row outlives its sale for a week, so that an entry of the stream
-- that comes late is known to be of a rehearsal, and becomes no order. Times are Unix ms of the database's clock.
CREATE TABLE rehearsals (
  sale_id    BIGINT NOT NULL PRIMARY KEY, -- the sale that was made for it
  of_sale    BIGINT NOT NULL,             -- the sale that is rehearsed
  part       SMALLINT NOT NULL,
  shoppers   INT NOT NULL,
  units      BIGINT NOT NULL,
  state      VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- running, ending or gone
  began_at   BIGINT NOT NULL,
  alive_at   BIGINT NOT NULL, -- when whoever runs it said so last
  until_at   BIGINT NOT NULL, -- it ends then at the latest
  ended_at   BIGINT NOT NULL, -- 0: not yet
  started_by VARCHAR(80) NOT NULL,
  -- Rehearsing, which nodes ask all the time
  KEY rehearsals_state (state)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
