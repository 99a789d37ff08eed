-- version grows with each edit; archived_at 0: it can be offered
ALTER TABLE products
  ADD COLUMN version BIGINT NOT NULL DEFAULT 1,
  ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN archived_at BIGINT NOT NULL DEFAULT 0
