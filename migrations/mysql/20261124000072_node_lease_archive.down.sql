ALTER TABLE node_leases DROP COLUMN reads_archive
