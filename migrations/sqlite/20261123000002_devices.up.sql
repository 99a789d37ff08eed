-- One row per log in: a family of refresh tokens, of which one counts at a time. Instants are Unix ms.
CREATE TABLE devices (
  id            INTEGER NOT NULL PRIMARY KEY, -- also the subject of its access tokens (see revoked)
  user_id       INTEGER NOT NULL,
  name          TEXT NOT NULL CHECK (length(name) <= 80),
  refresh_hash  TEXT NOT NULL CHECK (length(refresh_hash) = 64),  -- of the token that counts
  previous_hash TEXT NULL CHECK (length(previous_hash) = 64),     -- of the one before it
  rotated_at    INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  last_seen_at  INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL, -- moves with each rotation
  revoked_at    INTEGER NULL
) STRICT
--bun:split
-- DevicesOf, RevokeDevices
CREATE INDEX devices_user ON devices (user_id, id)
--bun:split
-- PurgeAccounts
CREATE INDEX devices_expires ON devices (expires_at)