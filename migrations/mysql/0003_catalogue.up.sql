-- Names that differ by an accent or by case are different, as in SQLite.
CREATE TABLE IF NOT EXISTS categories (
  id          BIGINT NOT NULL PRIMARY KEY,
  position    INT NOT NULL,
  name        VARCHAR(100) NOT NULL,
  version     BIGINT NOT NULL DEFAULT 1, -- grows with each edit
  updated_at  BIGINT NOT NULL DEFAULT 0, -- Unix ms
  archived_at BIGINT NOT NULL DEFAULT 0, -- Unix ms; 0: products can be added to it
  UNIQUE KEY categories_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
--bun:split
CREATE TABLE IF NOT EXISTS products (
  id             BIGINT NOT NULL PRIMARY KEY,
  category_id    BIGINT NOT NULL, -- 0: none
  name           VARCHAR(200) NOT NULL,
  list_price_fen BIGINT NOT NULL,
  description    MEDIUMTEXT NOT NULL, -- sanitised HTML
  rules          TEXT NOT NULL,
  created_at     BIGINT NOT NULL, -- Unix ms
  version        BIGINT NOT NULL DEFAULT 1, -- grows with each edit
  updated_at     BIGINT NOT NULL DEFAULT 0, -- Unix ms
  archived_at    BIGINT NOT NULL DEFAULT 0, -- Unix ms; 0: it can be offered
  ships          INT NOT NULL DEFAULT 0, -- 1: an order needs a delivery address before payment
  -- the products of a category, page by page in the order of ids
  KEY products_category (category_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
CREATE TABLE IF NOT EXISTS product_images (
  product_id BIGINT NOT NULL,
  position   INT NOT NULL,
  url        VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  alt        VARCHAR(200) NOT NULL,
  -- every read of products: their images in display order
  PRIMARY KEY (product_id, position),
  -- removal of unused images: the images that products show, by exact address
  KEY product_images_url (url)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Uploaded product images, re-encoded: no byte of the uploaded file is stored.
CREATE TABLE IF NOT EXISTS images (
  id         CHAR(64) NOT NULL PRIMARY KEY, -- SHA-256 of large, in hex: an address always shows the same image
  kind       VARCHAR(8) NOT NULL,           -- jpg or png
  width      INT NOT NULL,                  -- of large, pixels
  height     INT NOT NULL,
  large      MEDIUMBLOB NOT NULL,
  small      MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL,               -- Unix ms
  -- removal of unused images: covers the query, so that no image bytes are read
  KEY images_age (id, created_at, kind)
) ENGINE = InnoDB DEFAULT CHARSET = ascii COLLATE = ascii_bin
--bun:split
CREATE TABLE IF NOT EXISTS slots (
  id         BIGINT NOT NULL PRIMARY KEY,
  opens_at   BIGINT NOT NULL, -- Unix ms
  closes_at  BIGINT NOT NULL, -- Unix ms; the window is [opens_at, closes_at)
  hidden     BOOLEAN NOT NULL DEFAULT 0, -- not listed; may overlap other slots
  version    BIGINT NOT NULL DEFAULT 1, -- grows with each edit
  updated_at BIGINT NOT NULL DEFAULT 0, -- Unix ms
  -- one slot per start
  UNIQUE KEY slots_window (opens_at, hidden),
  -- slots that end after an instant, without a read of past slots
  KEY slots_closes (closes_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Removed slots that archived sales still refer to. They are not listed, and other slots may overlap them.
CREATE TABLE IF NOT EXISTS archived_slots (
  id          BIGINT NOT NULL PRIMARY KEY,
  opens_at    BIGINT NOT NULL, -- Unix ms
  closes_at   BIGINT NOT NULL,
  archived_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Units: initial + added = free + taken + withdrawn. The column `taken` changes only together with an order row (I5).
CREATE TABLE IF NOT EXISTS sales (
  id          BIGINT NOT NULL PRIMARY KEY,
  slot_id     BIGINT NOT NULL,
  product_id  BIGINT NOT NULL,
  position    INT NOT NULL,    -- within the slot
  part        SMALLINT NOT NULL, -- the partition in Redis, never changed
  price_fen   BIGINT NOT NULL,
  initial     BIGINT NOT NULL,
  added       BIGINT NOT NULL,
  withdrawn   BIGINT NOT NULL,
  taken       BIGINT NOT NULL, -- units of the orders that hold units: the guard against overselling
  seq         BIGINT NOT NULL, -- the highest reservation number of an order (I8)
  buyer_limit INT NOT NULL,    -- units one buyer may hold
  buyer_cap   INT NOT NULL,    -- reservations one buyer may make
  opens_at    BIGINT NOT NULL, -- the effective window, Unix ms
  closes_at   BIGINT NOT NULL,
  paused      BOOLEAN NOT NULL,
  challenge   VARCHAR(16) NOT NULL,
  version     BIGINT NOT NULL, -- grows with each edit
  epoch       BIGINT NOT NULL, -- of the partition; 0: never loaded into Redis (I7)
  retired_at  BIGINT NOT NULL, -- Unix ms; 0: its keys are in Redis, if it was loaded
  created_at  BIGINT NOT NULL, -- Unix ms
  last_order  BIGINT NOT NULL DEFAULT 0, -- the order with the highest seq; a Redis without it has lost writes (I8)
  updated_at  BIGINT NOT NULL DEFAULT 0, -- Unix ms
  archived_at BIGINT NOT NULL DEFAULT 0, -- Unix ms; 0: it is offered. Only sales that were never loaded are archived.
  limit_max   INT NOT NULL DEFAULT 0, -- the highest former buyer_limit: buyers within it are valid (P4)
  hidden      BOOLEAN NOT NULL DEFAULT 0, -- as the slot: not listed; only guests bound to the sale can buy
  blank_at    BIGINT NULL DEFAULT 0, -- Unix ms: the next removal of personal data; NULL: no data is left
  -- the sales of a slot, and the number of these sales
  KEY sales_slot (slot_id, position),
  -- the sales of a partition that are loaded; most sales are retired after a while
  KEY sales_part (part, retired_at, epoch),
  -- upcoming sales, in the order they open
  KEY sales_opens (opens_at, id),
  -- open and closed sales, by the end of the window
  KEY sales_closes (closes_at, id),
  -- sales to blank: most are NULL after a while
  KEY sales_blank (blank_at, closes_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
--bun:split
-- Withdrawals of units from a sale. Redis decides how many units are free, once per id. The row is pending until the
-- column withdrawn of the sale includes the withdrawal. Times are Unix ms.
CREATE TABLE IF NOT EXISTS stock_operations (
  id         BIGINT NOT NULL PRIMARY KEY,
  sale_id    BIGINT NOT NULL,
  units      BIGINT NOT NULL, -- requested
  taken      BIGINT NOT NULL, -- withdrawn
  state      VARCHAR(10) NOT NULL,
  created_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  KEY stock_operations_sale (sale_id, id),
  KEY stock_operations_state (state, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
