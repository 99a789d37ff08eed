CREATE TABLE products (
  id             BIGINT NOT NULL PRIMARY KEY,
  category_id    BIGINT NOT NULL, -- 0: none
  name           VARCHAR(200) NOT NULL,
  list_price_fen BIGINT NOT NULL,
  description    MEDIUMTEXT NOT NULL, -- sanitised HTML
  rules          TEXT NOT NULL,
  created_at     BIGINT NOT NULL,
  -- Products: one category, page by page in the order of ids
  KEY products_category (category_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
