ALTER TABLE product_images
  DROP INDEX product_images_url,
  MODIFY url VARCHAR(500) NOT NULL
