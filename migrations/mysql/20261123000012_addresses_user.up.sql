-- inBook: the rows of a book are locked in an order that no change of theirs moves them in, so that none is passed over
CREATE INDEX addresses_user ON addresses (user_id, id)
