DROP TABLE orders_archive
