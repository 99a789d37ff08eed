ALTER TABLE node_leases DROP COLUMN serves
