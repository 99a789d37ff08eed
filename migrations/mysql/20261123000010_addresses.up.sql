-- The address books of users and guests. Instants are Unix ms.
CREATE TABLE addresses (
  id         BIGINT NOT NULL PRIMARY KEY,
  user_id    BIGINT NOT NULL,
  name       VARCHAR(100) NOT NULL,
  phone      VARCHAR(32) NOT NULL,
  text       VARCHAR(400) NOT NULL,
  is_default TINYINT NULL, -- 1 or NULL, so that the key keeps a second default out and nothing else
  created_at BIGINT NOT NULL,
  -- AddressesOf; and one default for each user
  UNIQUE KEY addresses_default (user_id, is_default),
  CONSTRAINT addresses_one CHECK (is_default = 1)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
