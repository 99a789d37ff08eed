DROP TABLE blocks
