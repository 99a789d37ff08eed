-- version grows with each edit; archived_at 0: products can be put into it
ALTER TABLE categories ADD COLUMN version INTEGER NOT NULL DEFAULT 1
--bun:split
ALTER TABLE categories ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0
--bun:split
ALTER TABLE categories ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0
