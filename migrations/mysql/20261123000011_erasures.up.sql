-- People who had their data deleted, accounts and guests: the addresses in their orders are blanked as these come to an end.
-- Instants are Unix ms of the database's clock.
CREATE TABLE erasures (
  user_id  BIGINT NOT NULL PRIMARY KEY,
  asked_at BIGINT NOT NULL,
  next_at  BIGINT NULL, -- when their orders are looked at next; NULL: nothing is left
  -- ClaimErasures
  KEY erasures_due (next_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
