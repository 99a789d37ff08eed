-- A few small documents of operators that all nodes follow: how the switches stand, and the notice to shoppers.
CREATE TABLE kept (
  name    VARCHAR(40) NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  body    TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
