-- People with an account. A guest has no row; one who registers keeps the id, and so the orders. Instants are Unix ms,
-- NULL: it has not happened.
CREATE TABLE users (
  id           INTEGER NOT NULL PRIMARY KEY,
  email        TEXT NULL CHECK (length(email) <= 254),       -- in lower case; NULL: deleted
  name         TEXT NOT NULL CHECK (length(name) <= 40),
  role         TEXT NOT NULL CHECK (length(role) <= 10),     -- shopper, operator or admin
  password     TEXT NULL CHECK (length(password) <= 200),    -- its argon2id hash (PHC); NULL: none fits
  lang         TEXT NOT NULL CHECK (length(lang) <= 2),      -- en or zh
  state        TEXT NOT NULL CHECK (length(state) <= 10),    -- pending (until the e-mail is proven), active or deleted
  created_at   INTEGER NOT NULL,
  activated_at INTEGER NULL,
  deleted_at   INTEGER NULL,
  -- UserByEmail
  UNIQUE (email)
) STRICT
--bun:split
-- PurgeAccounts: registrations that were never activated
CREATE INDEX users_state ON users (state, created_at) WHERE state = 'pending'