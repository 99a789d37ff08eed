-- The holder, if its version reads the archive. A node of a version before it says nothing, also not under a number that
-- another one had; while there is such a node no order is moved.
ALTER TABLE node_leases ADD COLUMN reads_archive VARCHAR(64) NOT NULL DEFAULT ''
