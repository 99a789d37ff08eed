DROP INDEX addresses_user
