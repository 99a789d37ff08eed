-- RemoveUnusedImages: which of some pictures products show, by their very addresses
ALTER TABLE product_images
  MODIFY url VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ADD INDEX product_images_url (url)
