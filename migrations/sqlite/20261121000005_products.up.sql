CREATE TABLE products (
  id             INTEGER NOT NULL PRIMARY KEY,
  category_id    INTEGER NOT NULL, -- 0: none
  name           TEXT NOT NULL CHECK (length(name) <= 200),
  list_price_fen INTEGER NOT NULL,
  description    TEXT NOT NULL, -- sanitised HTML
  rules          TEXT NOT NULL,
  created_at     INTEGER NOT NULL
) STRICT
--bun:split
-- Products: one category, page by page in the order of ids
CREATE INDEX products_category ON products (category_id, id)
