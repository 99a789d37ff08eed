DROP TABLE partitions
