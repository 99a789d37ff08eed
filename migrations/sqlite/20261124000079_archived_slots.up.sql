-- Slots that were removed while archived sales refer to them: in no calendar, and in nobody's way
CREATE TABLE archived_slots (
  id          INTEGER NOT NULL PRIMARY KEY,
  opens_at    INTEGER NOT NULL, -- Unix ms
  closes_at   INTEGER NOT NULL,
  archived_at INTEGER NOT NULL
) STRICT
