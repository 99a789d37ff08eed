-- Accounts. A guest has no row; a guest who registers keeps the id and therefore the orders. Instants are Unix ms;
-- NULL: not yet.
CREATE TABLE IF NOT EXISTS users (
  id           BIGINT NOT NULL PRIMARY KEY,
  email        VARCHAR(254) CHARACTER SET ascii COLLATE ascii_bin NULL, -- in lower case; NULL: deleted
  name         VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  role         VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- shopper, operator or admin
  password     VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NULL,    -- argon2id hash (PHC); NULL: no login
  lang         CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,     -- en or zh
  state        VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- pending (unverified), active, deleted
  created_at   BIGINT NOT NULL,
  activated_at BIGINT NULL,
  deleted_at   BIGINT NULL,
  -- login
  UNIQUE KEY users_email (email),
  -- removal of registrations that were never activated
  KEY users_state (state, created_at),
  -- search by name, newest first. Names that differ by an accent or by case are different.
  KEY users_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- One row per login: its refresh tokens replace each other, only the newest is valid. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS devices (
  id            BIGINT NOT NULL PRIMARY KEY, -- also the subject of its access tokens (see revoked)
  user_id       BIGINT NOT NULL,
  name          VARCHAR(80) NOT NULL,
  refresh_hash  CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- hash of the valid token
  previous_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,     -- hash of the token that it replaced
  rotated_at    BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  last_seen_at  BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL, -- moves with each rotation
  revoked_at    BIGINT NULL,
  -- the devices of a user
  KEY devices_user (user_id, id),
  -- removal of expired rows
  KEY devices_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Subjects whose access tokens are invalid: the device of an account, or the user id of a guest. Nodes read new rows
-- every two seconds. Instants are Unix ms of the database's clock.
CREATE TABLE IF NOT EXISTS revoked (
  subject BIGINT NOT NULL PRIMARY KEY,
  at      BIGINT NOT NULL,
  until   BIGINT NOT NULL, -- all tokens have expired by then
  -- new rows
  KEY revoked_at (at),
  -- removal of expired rows
  KEY revoked_until (until)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Links in e-mails prove that the reader owns the address. The link has 32 random bytes, the row their SHA-256.
-- Instants are Unix ms.
CREATE TABLE IF NOT EXISTS mail_tokens (
  hash       CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  user_id    BIGINT NOT NULL,
  kind       VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- activate, reset or guest
  expires_at BIGINT NOT NULL,
  used_at    BIGINT NULL, -- a link is valid once
  -- using one link invalidates all links of the user
  KEY mail_tokens_user (user_id),
  -- removal of expired rows
  KEY mail_tokens_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- The address books of users and guests. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS addresses (
  id         BIGINT NOT NULL PRIMARY KEY,
  user_id    BIGINT NOT NULL,
  name       VARCHAR(100) NOT NULL,
  phone      VARCHAR(32) NOT NULL,
  text       VARCHAR(400) NOT NULL,
  is_default TINYINT NULL, -- 1 or NULL; the unique key allows several NULLs
  created_at BIGINT NOT NULL,
  -- the addresses of a user, and one default per user
  UNIQUE KEY addresses_default (user_id, is_default),
  -- edits lock the addresses of a user in the order of ids, which no edit changes, so that no row is skipped
  KEY addresses_user (user_id, id),
  CONSTRAINT addresses_one CHECK (is_default = 1)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Accounts and guests whose data was deleted on request: the addresses in their orders are removed when the orders end.
-- Instants are Unix ms of the database's clock.
CREATE TABLE IF NOT EXISTS erasures (
  user_id  BIGINT NOT NULL PRIMARY KEY,
  requested_at BIGINT NOT NULL,
  next_at  BIGINT NULL, -- the next check of the orders; NULL: no check is left
  -- due erasures
  KEY erasures_due (next_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Blocked users, addresses and networks. The row of a removed block stays. Nodes read all blocks in force when the
-- setting blocks_version grows. Times are Unix ms.
CREATE TABLE IF NOT EXISTS blocks (
  id         BIGINT NOT NULL PRIMARY KEY,
  kind       VARCHAR(10) NOT NULL,
  value      VARCHAR(64) NOT NULL,
  reason     VARCHAR(200) NOT NULL,
  until      BIGINT NULL,
  created_by VARCHAR(80) NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT NULL,
  KEY blocks_in_force (removed_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
