-- Units that operators take out of a sale. Redis decides how many are free, once for each id; the row is pending until the
-- sale's own count has them, too. Times are Unix ms.
CREATE TABLE stock_acts (
  id         BIGINT NOT NULL PRIMARY KEY,
  sale_id    BIGINT NOT NULL,
  units      BIGINT NOT NULL,
  taken      BIGINT NOT NULL,
  state      VARCHAR(10) NOT NULL,
  created_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  KEY stock_acts_sale (sale_id, id),
  KEY stock_acts_state (state, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
