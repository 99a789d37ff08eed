-- What the links in mails prove: that their reader has the e-mail. The link has 32 random bytes, the row their SHA-256.
-- Instants are Unix ms.
CREATE TABLE mail_tokens (
  hash       CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  user_id    BIGINT NOT NULL,
  kind       VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- activate or reset
  expires_at BIGINT NOT NULL,
  used_at    BIGINT NULL, -- it counts once
  -- all of a user are void when one was used
  KEY mail_tokens_user (user_id),
  -- PurgeAccounts
  KEY mail_tokens_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4