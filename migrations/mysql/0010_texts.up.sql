-- Texts of products and categories in further languages. Fields of a product that have no text in a language are empty.
CREATE TABLE IF NOT EXISTS product_texts (
  product_id  BIGINT NOT NULL,
  lang        CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- ISO 639-1
  name        VARCHAR(200) NOT NULL,
  description MEDIUMTEXT NOT NULL, -- sanitised HTML
  rules       TEXT NOT NULL,
  PRIMARY KEY (product_id, lang)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
CREATE TABLE IF NOT EXISTS category_texts (
  category_id BIGINT NOT NULL,
  lang        CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- ISO 639-1
  name        VARCHAR(100) NOT NULL,
  PRIMARY KEY (category_id, lang)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
