DROP INDEX images_age ON images
