-- What a setting is called is told apart to the letter, whatever the server's default says.
ALTER TABLE settings CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
