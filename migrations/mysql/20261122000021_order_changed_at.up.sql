-- Changed: when the row was changed last, by this server's clock (F1). It has no index: a replay walks the orders of a buyer,
-- who has few, and every row that is written would pay for it. TIMESTAMP, because UNIX_TIMESTAMP reads it as it is stored,
-- whatever the session's time zone; the type ends in January 2038. Whoever changes a row without making a new state of it
-- says changed_at = changed_at.
ALTER TABLE orders
  ADD COLUMN changed_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)
