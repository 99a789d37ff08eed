-- Operations of operators. Rows are only added: hash is SHA-256 over the other columns, which
-- include the hash of the previous row. A changed or deleted row is therefore detected. Times are Unix ms.
CREATE TABLE IF NOT EXISTS journal (
  seq           INTEGER NOT NULL PRIMARY KEY,
  at            INTEGER NOT NULL,
  actor_id      INTEGER NOT NULL,
  actor_name    TEXT NOT NULL,
  role          TEXT NOT NULL,
  via           TEXT NOT NULL,
  source        TEXT NOT NULL,
  request       TEXT NOT NULL,
  operation_key TEXT NOT NULL, -- the actor's Idempotency-Key
  request_hash  TEXT NOT NULL,
  kind          TEXT NOT NULL,
  object        TEXT NOT NULL,
  before_json   TEXT NOT NULL,
  after_json    TEXT NOT NULL,
  note          TEXT NOT NULL,
  answer_json   TEXT NOT NULL, -- the response, returned again for a repeated key
  prev_hash     TEXT NOT NULL,
  hash          TEXT NOT NULL,
  UNIQUE (actor_id, actor_name, operation_key)
) STRICT
--bun:split
-- The last row of the journal: a single row, changed by each operation.
CREATE TABLE IF NOT EXISTS journal_head (
  id   INTEGER NOT NULL PRIMARY KEY,
  seq  INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT
