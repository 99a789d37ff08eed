CREATE TABLE slots (
  id        INTEGER NOT NULL PRIMARY KEY,
  opens_at  INTEGER NOT NULL, -- Unix ms
  closes_at INTEGER NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  -- Slots: those that overlap a span of time, in the order of their windows; also: one slot per start
  UNIQUE (opens_at)
) STRICT
