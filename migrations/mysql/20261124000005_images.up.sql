-- Pictures of products, made of uploads: what is shown, and nothing of the file that came in.
CREATE TABLE images (
  id         CHAR(64) NOT NULL PRIMARY KEY, -- SHA-256 of large, in hex, so that an address never changes what it shows
  kind       VARCHAR(8) NOT NULL,           -- jpg or png
  width      INT NOT NULL,                  -- of large, pixels
  height     INT NOT NULL,
  large      MEDIUMBLOB NOT NULL,
  small      MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = ascii COLLATE = ascii_bin
