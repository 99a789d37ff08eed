-- FindUsers: accounts of a name, the newest first
CREATE INDEX users_name ON users (name)
