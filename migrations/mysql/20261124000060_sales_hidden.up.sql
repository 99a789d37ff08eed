-- hidden: as its slot. A hidden sale is in no list, and only guests that are bound to it can buy in it.
ALTER TABLE sales ADD COLUMN hidden BOOLEAN NOT NULL DEFAULT 0
