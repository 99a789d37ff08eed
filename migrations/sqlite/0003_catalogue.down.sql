DROP TABLE IF EXISTS stock_operations
--bun:split
DROP TABLE IF EXISTS sales
--bun:split
DROP TABLE IF EXISTS archived_slots
--bun:split
DROP TABLE IF EXISTS slots
--bun:split
DROP TABLE IF EXISTS images
--bun:split
DROP TABLE IF EXISTS product_images
--bun:split
DROP TABLE IF EXISTS products
--bun:split
DROP TABLE IF EXISTS categories
