-- Who is kept out: a user, an address or a network. A block that is removed keeps its row. Nodes read all rows in force
-- when the setting blocks_version has grown. Times are Unix ms.
CREATE TABLE blocks (
  id         BIGINT NOT NULL PRIMARY KEY,
  kind       VARCHAR(10) NOT NULL,
  value      VARCHAR(64) NOT NULL,
  reason     VARCHAR(200) NOT NULL,
  until      BIGINT NULL,
  created_by VARCHAR(80) NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT NULL,
  KEY blocks_in_force (removed_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
