-- Serves: 1 while the holder answers shoppers. Limits of a whole shop are divided by how many do.
ALTER TABLE node_leases ADD COLUMN serves INTEGER NOT NULL DEFAULT 0
