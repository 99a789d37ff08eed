CREATE TABLE product_images (
  product_id BIGINT NOT NULL,
  position   INT NOT NULL,
  url        VARCHAR(500) NOT NULL,
  alt        VARCHAR(200) NOT NULL,
  -- every read of products: their images in the order they are shown
  PRIMARY KEY (product_id, position)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
