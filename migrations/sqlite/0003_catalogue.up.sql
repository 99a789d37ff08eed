CREATE TABLE IF NOT EXISTS categories (
  id          INTEGER NOT NULL PRIMARY KEY,
  position    INTEGER NOT NULL,
  name        TEXT NOT NULL CHECK (length(name) <= 100),
  version     INTEGER NOT NULL DEFAULT 1, -- grows with each edit
  updated_at  INTEGER NOT NULL DEFAULT 0, -- Unix ms
  archived_at INTEGER NOT NULL DEFAULT 0, -- Unix ms; 0: products can be added to it
  UNIQUE (name)
) STRICT
--bun:split
CREATE TABLE IF NOT EXISTS products (
  id             INTEGER NOT NULL PRIMARY KEY,
  category_id    INTEGER NOT NULL, -- 0: none
  name           TEXT NOT NULL CHECK (length(name) <= 200),
  list_price_fen INTEGER NOT NULL,
  description    TEXT NOT NULL, -- sanitised HTML
  rules          TEXT NOT NULL,
  created_at     INTEGER NOT NULL, -- Unix ms
  version        INTEGER NOT NULL DEFAULT 1, -- grows with each edit
  updated_at     INTEGER NOT NULL DEFAULT 0, -- Unix ms
  archived_at    INTEGER NOT NULL DEFAULT 0, -- Unix ms; 0: it can be offered
  ships          INTEGER NOT NULL DEFAULT 0  -- 1: an order needs a delivery address before payment
) STRICT
--bun:split
-- the products of a category, page by page in the order of ids
CREATE INDEX IF NOT EXISTS products_category ON products (category_id, id)
--bun:split
CREATE TABLE IF NOT EXISTS product_images (
  product_id INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  url        TEXT NOT NULL CHECK (length(url) <= 500),
  alt        TEXT NOT NULL CHECK (length(alt) <= 200),
  -- every read of products: their images in display order
  PRIMARY KEY (product_id, position)
) STRICT, WITHOUT ROWID
--bun:split
-- removal of unused images: the images that products show
CREATE INDEX IF NOT EXISTS product_images_url ON product_images (url)
--bun:split
-- Uploaded product images, re-encoded: no byte of the uploaded file is stored.
CREATE TABLE IF NOT EXISTS images (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 64), -- SHA-256 of large: an address always shows one image
  kind       TEXT NOT NULL CHECK (length(kind) <= 8),           -- jpg or png
  width      INTEGER NOT NULL,                                  -- of large, pixels
  height     INTEGER NOT NULL,
  large      BLOB NOT NULL,
  small      BLOB NOT NULL,
  created_at INTEGER NOT NULL                                   -- Unix ms
) STRICT
--bun:split
-- removal of unused images: covers the query, so that no image bytes are read
CREATE INDEX IF NOT EXISTS images_age ON images (id, created_at, kind)
--bun:split
CREATE TABLE IF NOT EXISTS slots (
  id         INTEGER NOT NULL PRIMARY KEY,
  opens_at   INTEGER NOT NULL, -- Unix ms
  closes_at  INTEGER NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  hidden     INTEGER NOT NULL DEFAULT 0, -- not listed; may overlap other slots
  version    INTEGER NOT NULL DEFAULT 1, -- grows with each edit
  updated_at INTEGER NOT NULL DEFAULT 0, -- Unix ms
  -- one slot per start
  UNIQUE (opens_at, hidden)
) STRICT
--bun:split
-- slots that end after an instant, without a read of past slots
CREATE INDEX IF NOT EXISTS slots_closes ON slots (closes_at)
--bun:split
-- Removed slots that archived sales still refer to. They are not listed, and other slots may overlap them.
CREATE TABLE IF NOT EXISTS archived_slots (
  id          INTEGER NOT NULL PRIMARY KEY,
  opens_at    INTEGER NOT NULL, -- Unix ms
  closes_at   INTEGER NOT NULL,
  archived_at INTEGER NOT NULL
) STRICT
--bun:split
-- Units: initial + added = free + taken + withdrawn. The column `taken` changes only together with an order row (I5).
CREATE TABLE IF NOT EXISTS sales (
  id          INTEGER NOT NULL PRIMARY KEY,
  slot_id     INTEGER NOT NULL,
  product_id  INTEGER NOT NULL,
  position    INTEGER NOT NULL, -- within the slot
  part        INTEGER NOT NULL, -- the partition in Redis, never changed
  price_fen   INTEGER NOT NULL,
  initial     INTEGER NOT NULL,
  added       INTEGER NOT NULL,
  withdrawn   INTEGER NOT NULL,
  taken       INTEGER NOT NULL, -- units of the orders that hold units: the guard against overselling
  seq         INTEGER NOT NULL, -- the highest reservation number of an order (I8)
  buyer_limit INTEGER NOT NULL, -- units one buyer may hold
  buyer_cap   INTEGER NOT NULL, -- reservations one buyer may make
  opens_at    INTEGER NOT NULL, -- the effective window, Unix ms
  closes_at   INTEGER NOT NULL,
  paused      INTEGER NOT NULL,
  challenge   TEXT NOT NULL CHECK (length(challenge) <= 16),
  version     INTEGER NOT NULL, -- grows with each edit
  epoch       INTEGER NOT NULL, -- of the partition; 0: never loaded into Redis (I7)
  retired_at  INTEGER NOT NULL, -- Unix ms; 0: its keys are in Redis, if it was loaded
  created_at  INTEGER NOT NULL, -- Unix ms
  last_order  INTEGER NOT NULL DEFAULT 0, -- the order with the highest seq; a Redis without it has lost writes (I8)
  updated_at  INTEGER NOT NULL DEFAULT 0, -- Unix ms
  archived_at INTEGER NOT NULL DEFAULT 0, -- Unix ms; 0: it is offered. Only sales that were never loaded are archived.
  limit_max   INTEGER NOT NULL DEFAULT 0, -- the highest former buyer_limit: buyers within it are valid (P4)
  hidden      INTEGER NOT NULL DEFAULT 0, -- as the slot: not listed; only guests bound to the sale can buy
  blank_at    INTEGER NULL DEFAULT 0 -- Unix ms: the next removal of personal data; NULL: no data is left
) STRICT
--bun:split
-- the sales of a slot, and the number of these sales
CREATE INDEX IF NOT EXISTS sales_slot ON sales (slot_id, position)
--bun:split
-- the sales of a partition that are loaded; most sales are retired after a while
CREATE INDEX IF NOT EXISTS sales_part ON sales (part, retired_at, epoch)
--bun:split
-- upcoming sales, in the order they open
CREATE INDEX IF NOT EXISTS sales_opens ON sales (opens_at, id)
--bun:split
-- open and closed sales, by the end of the window
CREATE INDEX IF NOT EXISTS sales_closes ON sales (closes_at, id)
--bun:split
-- sales to blank: most are NULL after a while
CREATE INDEX IF NOT EXISTS sales_blank ON sales (blank_at, closes_at, id)
--bun:split
-- Withdrawals of units from a sale. Redis decides how many units are free, once per id. The row is pending until the
-- column withdrawn of the sale includes the withdrawal. Times are Unix ms.
CREATE TABLE IF NOT EXISTS stock_operations (
  id         INTEGER NOT NULL PRIMARY KEY,
  sale_id    INTEGER NOT NULL,
  units      INTEGER NOT NULL, -- requested
  taken      INTEGER NOT NULL, -- withdrawn
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL
) STRICT
