-- Accounts. A guest has no row; a guest who registers keeps the id and therefore the orders. Instants are Unix ms;
-- NULL: not yet.
CREATE TABLE IF NOT EXISTS users (
  id           INTEGER NOT NULL PRIMARY KEY,
  email        TEXT NULL CHECK (length(email) <= 254),       -- in lower case; NULL: deleted
  name         TEXT NOT NULL CHECK (length(name) <= 40),
  role         TEXT NOT NULL CHECK (length(role) <= 10),     -- shopper, operator or admin
  password     TEXT NULL CHECK (length(password) <= 200),    -- argon2id hash (PHC); NULL: no login
  lang         TEXT NOT NULL CHECK (length(lang) <= 2),      -- en or zh
  state        TEXT NOT NULL CHECK (length(state) <= 10),    -- pending (unverified e-mail), active, deleted
  created_at   INTEGER NOT NULL,
  activated_at INTEGER NULL,
  deleted_at   INTEGER NULL,
  -- login
  UNIQUE (email)
) STRICT
--bun:split
-- removal of registrations that were never activated
CREATE INDEX IF NOT EXISTS users_state ON users (state, created_at) WHERE state = 'pending'
--bun:split
-- search by name, newest first
CREATE INDEX IF NOT EXISTS users_name ON users (name)
--bun:split
-- One row per login: its refresh tokens replace each other, only the newest is valid. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS devices (
  id            INTEGER NOT NULL PRIMARY KEY, -- also the subject of its access tokens (see revoked)
  user_id       INTEGER NOT NULL,
  name          TEXT NOT NULL CHECK (length(name) <= 80),
  refresh_hash  TEXT NOT NULL CHECK (length(refresh_hash) = 64),  -- hash of the valid token
  previous_hash TEXT NULL CHECK (length(previous_hash) = 64),     -- hash of the token that it replaced
  rotated_at    INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  last_seen_at  INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL, -- moves with each rotation
  revoked_at    INTEGER NULL
) STRICT
--bun:split
-- the devices of a user
CREATE INDEX IF NOT EXISTS devices_user ON devices (user_id, id)
--bun:split
-- removal of expired rows
CREATE INDEX IF NOT EXISTS devices_expires ON devices (expires_at)
--bun:split
-- Subjects whose access tokens are invalid: the device of an account, or the user id of a guest. Nodes read new rows
-- every two seconds. Instants are Unix ms of the database's clock.
CREATE TABLE IF NOT EXISTS revoked (
  subject INTEGER NOT NULL PRIMARY KEY,
  at      INTEGER NOT NULL,
  until   INTEGER NOT NULL -- all tokens have expired by then
) STRICT
--bun:split
-- new rows
CREATE INDEX IF NOT EXISTS revoked_at ON revoked (at)
--bun:split
-- removal of expired rows
CREATE INDEX IF NOT EXISTS revoked_until ON revoked (until)
--bun:split
-- Links in e-mails prove that the reader owns the address. The link has 32 random bytes, the row their SHA-256.
-- Instants are Unix ms.
CREATE TABLE IF NOT EXISTS mail_tokens (
  hash       TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
  user_id    INTEGER NOT NULL,
  kind       TEXT NOT NULL CHECK (length(kind) <= 10), -- activate, reset or guest
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NULL -- a link is valid once
) STRICT
--bun:split
-- using one link invalidates all links of the user
CREATE INDEX IF NOT EXISTS mail_tokens_user ON mail_tokens (user_id)
--bun:split
-- removal of expired rows
CREATE INDEX IF NOT EXISTS mail_tokens_expires ON mail_tokens (expires_at)
--bun:split
-- The address books of users and guests. Instants are Unix ms.
CREATE TABLE IF NOT EXISTS addresses (
  id         INTEGER NOT NULL PRIMARY KEY,
  user_id    INTEGER NOT NULL,
  name       TEXT NOT NULL CHECK (length(name) <= 100),
  phone      TEXT NOT NULL CHECK (length(phone) <= 32),
  text       TEXT NOT NULL CHECK (length(text) <= 400),
  is_default INTEGER NULL CHECK (is_default = 1), -- 1 or NULL; the unique key allows several NULLs
  created_at INTEGER NOT NULL,
  -- the addresses of a user, and one default per user
  UNIQUE (user_id, is_default)
) STRICT
--bun:split
-- edits read the addresses of a user in the order of ids, which no edit changes
CREATE INDEX IF NOT EXISTS addresses_user ON addresses (user_id, id)
--bun:split
-- Accounts and guests whose data was deleted on request: the addresses in their orders are removed when the orders end.
-- Instants are Unix ms of the database's clock.
CREATE TABLE IF NOT EXISTS erasures (
  user_id  INTEGER NOT NULL PRIMARY KEY,
  requested_at INTEGER NOT NULL,
  next_at  INTEGER NULL -- the next check of the orders; NULL: no check is left
) STRICT
--bun:split
-- due erasures
CREATE INDEX IF NOT EXISTS erasures_due ON erasures (next_at) WHERE next_at IS NOT NULL
--bun:split
-- Blocked users, addresses and networks. The row of a removed block stays. Nodes read all blocks in force when the
-- setting blocks_version grows. Times are Unix ms.
CREATE TABLE IF NOT EXISTS blocks (
  id         INTEGER NOT NULL PRIMARY KEY,
  kind       TEXT NOT NULL,
  value      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  until      INTEGER,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT
