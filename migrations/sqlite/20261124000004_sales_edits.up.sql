-- archived_at 0: it is offered. Only a sale that was never loaded into Redis can be archived.
ALTER TABLE sales ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0
--bun:split
ALTER TABLE sales ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0
