CREATE TABLE archive_drops (
  sale_id BIGINT NOT NULL PRIMARY KEY,
  orders BIGINT NOT NULL,
  sold BIGINT NOT NULL,
  gone BIGINT NOT NULL,
  max_ticket BIGINT NOT NULL,
  max_seq BIGINT NOT NULL,
  paid_fen BIGINT NOT NULL,
  refunded_fen BIGINT NOT NULL,
  dropped_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
