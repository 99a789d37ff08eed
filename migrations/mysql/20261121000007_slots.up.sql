CREATE TABLE slots (
  id        BIGINT NOT NULL PRIMARY KEY,
  opens_at  BIGINT NOT NULL, -- Unix ms
  closes_at BIGINT NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  hidden    BOOLEAN NOT NULL DEFAULT 0, -- in no list, and may overlap others
  -- one slot per start
  UNIQUE KEY slots_window (opens_at, hidden),
  -- Slots: those that end after an instant, so not all the past ones
  KEY slots_closes (closes_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
