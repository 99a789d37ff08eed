DROP TABLE erasures
