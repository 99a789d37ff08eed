DROP TABLE node_leases
