DROP TABLE images
