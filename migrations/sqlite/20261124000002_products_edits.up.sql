-- version grows with each edit; archived_at 0: it can be offered
ALTER TABLE products ADD COLUMN version INTEGER NOT NULL DEFAULT 1
--bun:split
ALTER TABLE products ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0
--bun:split
ALTER TABLE products ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0
