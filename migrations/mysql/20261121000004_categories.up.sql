CREATE TABLE categories (
  id       BIGINT NOT NULL PRIMARY KEY,
  position INT NOT NULL,
  name     VARCHAR(100) NOT NULL,
  -- a category is found and shown by its name, so there is one of each
  UNIQUE KEY categories_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
