-- ToldUntil: new rows that were stamped before this instant (Unix ms, see orders.changed_at) have been published; 0: nobody
-- knows. A rebuild stamps only younger ones anew.
ALTER TABLE partitions ADD COLUMN told_until INTEGER NOT NULL DEFAULT 0
