CREATE TABLE categories (
  id       INTEGER NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  name     TEXT NOT NULL CHECK (length(name) <= 100),
  -- a category is found and shown by its name, so there is one of each
  UNIQUE (name)
) STRICT
