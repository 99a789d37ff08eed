CREATE TABLE slots (
  id        BIGINT NOT NULL PRIMARY KEY,
  opens_at  BIGINT NOT NULL, -- Unix ms
  closes_at BIGINT NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  -- Slots: those that overlap a span of time, in the order of their windows; also: one slot per start
  UNIQUE KEY slots_window (opens_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
