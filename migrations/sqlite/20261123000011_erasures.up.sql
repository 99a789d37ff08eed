-- People who had their data deleted, accounts and guests: the addresses in their orders are blanked as these come to an end.
-- Instants are Unix ms of the database's clock.
CREATE TABLE erasures (
  user_id  INTEGER NOT NULL PRIMARY KEY,
  asked_at INTEGER NOT NULL,
  next_at  INTEGER NULL -- when their orders are looked at next; NULL: nothing is left
) STRICT
--bun:split
-- ClaimErasures
CREATE INDEX erasures_due ON erasures (next_at) WHERE next_at IS NOT NULL
