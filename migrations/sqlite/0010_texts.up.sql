-- Texts of products and categories in further languages. Fields of a product that have no text in a language are empty.
CREATE TABLE IF NOT EXISTS product_texts (
  product_id  INTEGER NOT NULL,
  lang        TEXT NOT NULL CHECK (length(lang) <= 2), -- ISO 639-1
  name        TEXT NOT NULL CHECK (length(name) <= 200),
  description TEXT NOT NULL, -- sanitised HTML
  rules       TEXT NOT NULL,
  PRIMARY KEY (product_id, lang)
) STRICT
--bun:split
CREATE TABLE IF NOT EXISTS category_texts (
  category_id INTEGER NOT NULL,
  lang        TEXT NOT NULL CHECK (length(lang) <= 2), -- ISO 639-1
  name        TEXT NOT NULL CHECK (length(name) <= 100),
  PRIMARY KEY (category_id, lang)
) STRICT
