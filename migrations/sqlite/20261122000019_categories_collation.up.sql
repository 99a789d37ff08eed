-- SQLite tells texts apart to the byte.
SELECT 1;
