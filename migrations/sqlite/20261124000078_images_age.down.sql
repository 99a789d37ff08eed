DROP INDEX images_age
