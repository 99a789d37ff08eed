-- What operators have done. Rows are only ever added: hash is SHA-256 over the other columns and the hash of the row
-- before, so none can be changed or taken out unseen. act_key is the Idempotency-Key of the actor, answer_json what was
-- answered. Times are Unix ms.
CREATE TABLE journal (
  seq          BIGINT NOT NULL PRIMARY KEY,
  at           BIGINT NOT NULL,
  actor_id     BIGINT NOT NULL,
  actor_name   VARCHAR(80) NOT NULL,
  role         VARCHAR(10) NOT NULL,
  via          VARCHAR(8) NOT NULL,
  source       VARCHAR(80) NOT NULL,
  request      VARCHAR(64) NOT NULL,
  act_key      VARCHAR(64) NOT NULL,
  request_hash VARCHAR(64) NOT NULL,
  kind         VARCHAR(40) NOT NULL,
  object       VARCHAR(80) NOT NULL,
  before_json  MEDIUMTEXT NOT NULL,
  after_json   MEDIUMTEXT NOT NULL,
  note         VARCHAR(300) NOT NULL,
  answer_json  MEDIUMTEXT NOT NULL,
  prev_hash    VARCHAR(64) NOT NULL,
  hash         VARCHAR(64) NOT NULL,
  UNIQUE KEY journal_act (actor_id, actor_name, act_key),
  KEY journal_object (object, seq),
  KEY journal_kind (kind, seq),
  KEY journal_name (actor_name, seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
