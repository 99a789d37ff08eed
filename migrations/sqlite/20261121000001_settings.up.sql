-- What was decided once for the whole platform: the number of partitions, the catalogue's version.
CREATE TABLE settings (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT
