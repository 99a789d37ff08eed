-- RemoveUnusedImages: which of some pictures products show
CREATE INDEX product_images_url ON product_images (url)
