DROP INDEX addresses_user ON addresses
