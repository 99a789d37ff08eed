-- Names that differ by an accent or a capital are two, as in SQLite; to the default collation they are one, and the second
-- would be refused. Where such names were added meanwhile, the way back fails.
ALTER TABLE categories CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
