CREATE INDEX trades_due ON trades (check_at) WHERE check_at IS NOT NULL
--bun:split
DROP INDEX trades_turn
--bun:split
ALTER TABLE trades DROP COLUMN ended
