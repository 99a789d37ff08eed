-- Subjects whose access tokens no longer count: the device of an account, the user id of a guest. Nodes read what is new
-- every two seconds. Instants are Unix ms of the database's clock.
CREATE TABLE revoked (
  subject BIGINT NOT NULL PRIMARY KEY,
  at      BIGINT NOT NULL,
  until   BIGINT NOT NULL, -- by then the tokens have ended by themselves
  -- Revocations: what is new
  KEY revoked_at (at),
  -- PurgeAccounts
  KEY revoked_until (until)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4