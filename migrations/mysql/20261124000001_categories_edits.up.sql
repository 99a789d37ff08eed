-- version grows with each edit; archived_at 0: products can be put into it
ALTER TABLE categories
  ADD COLUMN version BIGINT NOT NULL DEFAULT 1,
  ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN archived_at BIGINT NOT NULL DEFAULT 0
