DROP TABLE shipments
