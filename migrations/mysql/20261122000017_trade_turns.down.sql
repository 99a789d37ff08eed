ALTER TABLE trades
  ADD KEY trades_due (check_at),
  DROP KEY trades_turn,
  DROP COLUMN ended
