-- version grows with each edit
ALTER TABLE slots
  ADD COLUMN version BIGINT NOT NULL DEFAULT 1,
  ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0
