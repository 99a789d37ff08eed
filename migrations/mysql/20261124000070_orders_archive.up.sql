-- Orders of sales that closed long ago: rows move here as they are, and come back when something still happens to them.
-- A row is in one of the two tables (I1). Ids begin with their instant, so a range of ids is a month of time: the
-- partitions are made ahead, the first one here stays empty. Each unique key of a partitioned table must name what it is
-- partitioned by, which the primary key does; a buyer's key is no unique one here, see sales.moved_at.
CREATE TABLE orders_archive (
  id           BIGINT NOT NULL PRIMARY KEY,
  sale_id      BIGINT NOT NULL,
  user_id      BIGINT NOT NULL,
  part         SMALLINT NOT NULL,
  seq          BIGINT NOT NULL,
  ticket       BIGINT NOT NULL,
  hold         BIGINT NOT NULL,
  qty          INT NOT NULL,
  price_fen    BIGINT NOT NULL,
  amount_fen   BIGINT NOT NULL,
  sale_version BIGINT NOT NULL,
  state        VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  rev          INT NOT NULL,
  told_rev     INT NOT NULL,
  untold_since BIGINT NULL,
  created_at   BIGINT NOT NULL,
  pay_by       BIGINT NOT NULL,
  paid_at      BIGINT NOT NULL,
  cancelled_at BIGINT NOT NULL,
  trade_opened BIGINT NOT NULL,
  idem_key     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  content_hash VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  trade_no     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tracking     VARCHAR(64) NOT NULL,
  reason       VARCHAR(200) NOT NULL,
  product_name VARCHAR(200) NOT NULL,
  address      TEXT NULL,
  changed_at   TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  moved_at     BIGINT NOT NULL,
  -- named as those of orders, so that the same statement reads both tables
  KEY orders_key (user_id, id),
  KEY orders_sale (sale_id, id),
  KEY orders_due (state, pay_by, id),
  KEY orders_untold (untold_since)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
