-- archived_at 0: it is offered. Only a sale that was never loaded into Redis can be archived.
ALTER TABLE sales
  ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN archived_at BIGINT NOT NULL DEFAULT 0
