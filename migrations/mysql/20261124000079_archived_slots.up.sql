-- Slots that were removed while archived sales refer to them: in no calendar, and in nobody's way
CREATE TABLE archived_slots (
  id          BIGINT NOT NULL PRIMARY KEY,
  opens_at    BIGINT NOT NULL, -- Unix ms
  closes_at   BIGINT NOT NULL,
  archived_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
