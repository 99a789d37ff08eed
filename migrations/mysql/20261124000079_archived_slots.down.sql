DROP TABLE archived_slots
