-- Whose number it is, is told apart to the letter.
ALTER TABLE node_leases CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
