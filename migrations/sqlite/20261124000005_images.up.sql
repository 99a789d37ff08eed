-- Pictures of products, made of uploads: what is shown, and nothing of the file that came in.
CREATE TABLE images (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 64), -- SHA-256 of large, in hex, so that an address never changes what it shows
  kind       TEXT NOT NULL CHECK (length(kind) <= 8),           -- jpg or png
  width      INTEGER NOT NULL,                                  -- of large, pixels
  height     INTEGER NOT NULL,
  large      BLOB NOT NULL,
  small      BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT
