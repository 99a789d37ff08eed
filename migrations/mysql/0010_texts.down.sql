DROP TABLE IF EXISTS category_texts
--bun:split
DROP TABLE IF EXISTS product_texts
