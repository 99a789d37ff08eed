-- Settings of the whole platform, e.g. the number of partitions and the catalogue's version. Names are case-sensitive.
CREATE TABLE IF NOT EXISTS settings (
  name  VARCHAR(64) NOT NULL PRIMARY KEY,
  value VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
--bun:split
-- The random id of the shop. It is part of the schema, so that no replica and no backup lacks it.
INSERT IGNORE INTO settings (name, value) VALUES ('shop', SUBSTRING(MD5(CONCAT(UUID(), RAND())), 1, 16))
--bun:split
-- Small documents that operators edit and all nodes read: the switches and the banner for shoppers.
CREATE TABLE IF NOT EXISTS versioned_settings (
  name    VARCHAR(40) NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL, -- grows with each edit
  body    TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
