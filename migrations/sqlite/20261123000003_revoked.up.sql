-- Subjects whose access tokens no longer count: the device of an account, the user id of a guest. Nodes read what is new
-- every two seconds. Instants are Unix ms of the database's clock.
CREATE TABLE revoked (
  subject INTEGER NOT NULL PRIMARY KEY,
  at      INTEGER NOT NULL,
  until   INTEGER NOT NULL -- by then the tokens have ended by themselves
) STRICT
--bun:split
-- Revocations: what is new
CREATE INDEX revoked_at ON revoked (at)
--bun:split
-- PurgeAccounts
CREATE INDEX revoked_until ON revoked (until)