DROP TABLE product_images
