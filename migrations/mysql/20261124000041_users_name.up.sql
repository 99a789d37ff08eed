-- FindUsers: accounts of a name, the newest first. Names that differ by an accent or a capital are two.
ALTER TABLE users
  MODIFY name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ADD KEY users_name (name)
