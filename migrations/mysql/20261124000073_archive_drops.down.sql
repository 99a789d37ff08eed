DROP TABLE archive_drops
