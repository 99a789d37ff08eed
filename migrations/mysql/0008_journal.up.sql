-- Operations of operators. Rows are only added: hash is SHA-256 over the other columns, which
-- include the hash of the previous row. A changed or deleted row is therefore detected. Times are Unix ms.
CREATE TABLE IF NOT EXISTS journal (
  seq           BIGINT NOT NULL PRIMARY KEY,
  at            BIGINT NOT NULL,
  actor_id      BIGINT NOT NULL,
  actor_name    VARCHAR(80) NOT NULL,
  role          VARCHAR(10) NOT NULL,
  via           VARCHAR(8) NOT NULL,
  source        VARCHAR(80) NOT NULL,
  request       VARCHAR(64) NOT NULL,
  operation_key VARCHAR(64) NOT NULL, -- the actor's Idempotency-Key
  request_hash  VARCHAR(64) NOT NULL,
  kind          VARCHAR(40) NOT NULL,
  object        VARCHAR(80) NOT NULL,
  before_json   MEDIUMTEXT NOT NULL,
  after_json    MEDIUMTEXT NOT NULL,
  note          VARCHAR(300) NOT NULL,
  answer_json   MEDIUMTEXT NOT NULL, -- the response, returned again for a repeated key
  prev_hash     VARCHAR(64) NOT NULL,
  hash          VARCHAR(64) NOT NULL,
  UNIQUE KEY journal_operation (actor_id, actor_name, operation_key),
  KEY journal_object (object, seq),
  KEY journal_kind (kind, seq),
  KEY journal_name (actor_name, seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
--bun:split
-- The last row of the journal. Each operation locks this single row, so operations run one after the other.
CREATE TABLE IF NOT EXISTS journal_head (
  id   INT NOT NULL PRIMARY KEY,
  seq  BIGINT NOT NULL,
  hash VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
