-- One row per log in: a family of refresh tokens, of which one counts at a time. Instants are Unix ms.
CREATE TABLE devices (
  id            BIGINT NOT NULL PRIMARY KEY, -- also the subject of its access tokens (see revoked)
  user_id       BIGINT NOT NULL,
  name          VARCHAR(80) NOT NULL,
  refresh_hash  CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of the token that counts
  previous_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,     -- of the one before it
  rotated_at    BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  last_seen_at  BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL, -- moves with each rotation
  revoked_at    BIGINT NULL,
  -- DevicesOf, RevokeDevices
  KEY devices_user (user_id, id),
  -- PurgeAccounts
  KEY devices_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4