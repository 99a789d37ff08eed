-- What operators have done. Rows are only ever added: hash is SHA-256 over the other columns and the hash of the row
-- before, so none can be changed or taken out unseen. act_key is the Idempotency-Key of the actor, answer_json what was
-- answered. Times are Unix ms.
CREATE TABLE journal (
  seq          INTEGER NOT NULL PRIMARY KEY,
  at           INTEGER NOT NULL,
  actor_id     INTEGER NOT NULL,
  actor_name   TEXT NOT NULL,
  role         TEXT NOT NULL,
  via          TEXT NOT NULL,
  source       TEXT NOT NULL,
  request      TEXT NOT NULL,
  act_key      TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  kind         TEXT NOT NULL,
  object       TEXT NOT NULL,
  before_json  TEXT NOT NULL,
  after_json   TEXT NOT NULL,
  note         TEXT NOT NULL,
  answer_json  TEXT NOT NULL,
  prev_hash    TEXT NOT NULL,
  hash         TEXT NOT NULL,
  UNIQUE (actor_id, actor_name, act_key)
) STRICT
