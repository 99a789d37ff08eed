DROP TABLE products
