-- Trades whose time to pay is over come after those that can still be paid when there are more than can be asked about.
-- ended is 1 when it was over as the next look was planned.
ALTER TABLE trades ADD COLUMN ended INTEGER NOT NULL DEFAULT 0
--bun:split
-- ClaimTrades
CREATE INDEX trades_turn ON trades (ended, check_at) WHERE check_at IS NOT NULL
--bun:split
DROP INDEX trades_due
