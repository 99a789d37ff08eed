CREATE TABLE product_images (
  product_id INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  url        TEXT NOT NULL CHECK (length(url) <= 500),
  alt        TEXT NOT NULL CHECK (length(alt) <= 200),
  -- every read of products: their images in the order they are shown
  PRIMARY KEY (product_id, position)
) STRICT, WITHOUT ROWID
