-- Trades whose time to pay is over come after those that can still be paid when there are more than can be asked about.
ALTER TABLE trades
  ADD COLUMN ended TINYINT NOT NULL DEFAULT 0, -- 1: its time to pay was over when its next look was planned
  -- ClaimTrades: nearly all rows have no check_at
  ADD KEY trades_turn (ended, check_at),
  DROP KEY trades_due
