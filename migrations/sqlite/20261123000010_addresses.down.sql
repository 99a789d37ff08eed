DROP TABLE addresses
