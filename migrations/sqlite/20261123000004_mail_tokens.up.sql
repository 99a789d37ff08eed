-- What the links in mails prove: that their reader has the e-mail. The link has 32 random bytes, the row their SHA-256.
-- Instants are Unix ms.
CREATE TABLE mail_tokens (
  hash       TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
  user_id    INTEGER NOT NULL,
  kind       TEXT NOT NULL CHECK (length(kind) <= 10), -- activate or reset
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NULL -- it counts once
) STRICT
--bun:split
-- all of a user are void when one was used
CREATE INDEX mail_tokens_user ON mail_tokens (user_id)
--bun:split
-- PurgeAccounts
CREATE INDEX mail_tokens_expires ON mail_tokens (expires_at)