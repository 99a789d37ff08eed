-- People with an account. A guest has no row; one who registers keeps the id, and so the orders. Instants are Unix ms,
-- NULL: it has not happened.
CREATE TABLE users (
  id           BIGINT NOT NULL PRIMARY KEY,
  email        VARCHAR(254) CHARACTER SET ascii COLLATE ascii_bin NULL, -- in lower case; NULL: deleted
  name         VARCHAR(40) NOT NULL,
  role         VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- shopper, operator or admin
  password     VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NULL,    -- its argon2id hash (PHC); NULL: none fits
  lang         CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,     -- en or zh
  state        VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- pending (until the e-mail is proven), active or deleted
  created_at   BIGINT NOT NULL,
  activated_at BIGINT NULL,
  deleted_at   BIGINT NULL,
  -- UserByEmail
  UNIQUE KEY users_email (email),
  -- PurgeAccounts: registrations that were never activated
  KEY users_state (state, created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4