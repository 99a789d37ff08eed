-- The address books of users and guests. Instants are Unix ms.
CREATE TABLE addresses (
  id         INTEGER NOT NULL PRIMARY KEY,
  user_id    INTEGER NOT NULL,
  name       TEXT NOT NULL CHECK (length(name) <= 100),
  phone      TEXT NOT NULL CHECK (length(phone) <= 32),
  text       TEXT NOT NULL CHECK (length(text) <= 400),
  is_default INTEGER NULL CHECK (is_default = 1), -- 1 or NULL, so that the key keeps a second default out and nothing else
  created_at INTEGER NOT NULL,
  -- AddressesOf; and one default for each user
  UNIQUE (user_id, is_default)
) STRICT
