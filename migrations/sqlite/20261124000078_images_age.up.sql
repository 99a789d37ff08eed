-- RemoveUnusedImages: pictures by id with all that is looked at, so that none of their bytes is read
CREATE INDEX images_age ON images (id, created_at, kind)
