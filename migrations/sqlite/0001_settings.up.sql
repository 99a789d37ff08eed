-- Settings of the whole platform, e.g. the number of partitions and the catalogue's version.
CREATE TABLE IF NOT EXISTS settings (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT
--bun:split
-- The random id of the shop. It is part of the schema, so that no replica and no backup lacks it.
INSERT INTO settings (name, value) VALUES ('shop', lower(hex(randomblob(8)))) ON CONFLICT DO NOTHING
--bun:split
-- Small documents that operators edit and all nodes read: the switches and the banner for shoppers.
CREATE TABLE IF NOT EXISTS versioned_settings (
  name    TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL, -- grows with each edit
  body    TEXT NOT NULL
) STRICT
