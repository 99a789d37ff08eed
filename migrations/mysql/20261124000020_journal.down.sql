DROP TABLE journal
