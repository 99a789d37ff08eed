-- version grows with each edit
ALTER TABLE slots ADD COLUMN version INTEGER NOT NULL DEFAULT 1
--bun:split
ALTER TABLE slots ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0
