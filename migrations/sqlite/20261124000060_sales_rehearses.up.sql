-- rehearses: the sale that this one is a rehearsal of; 0: it is a real one. One of a rehearsal is in no slot, is listed
-- nowhere, and is removed with its orders.
ALTER TABLE sales ADD COLUMN rehearses INTEGER NOT NULL DEFAULT 0
