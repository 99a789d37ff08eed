CREATE TABLE slots (
  id        INTEGER NOT NULL PRIMARY KEY,
  opens_at  INTEGER NOT NULL, -- Unix ms
  closes_at INTEGER NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  hidden    INTEGER NOT NULL DEFAULT 0, -- in no list, and may overlap others
  -- one slot per start
  UNIQUE (opens_at, hidden)
) STRICT
--bun:split
-- Slots: those that end after an instant, so not all the past ones
CREATE INDEX slots_closes ON slots (closes_at)
