-- Who may mint ids under which node number, and until when. last_ms is the last millisecond that the
-- holder may use in an id; whoever comes next starts above it. Times are the database's clock in Unix ms.
CREATE TABLE node_leases (
  node       SMALLINT NOT NULL PRIMARY KEY,
  holder     VARCHAR(64) NOT NULL,
  expires_at BIGINT NOT NULL,
  last_ms    BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
