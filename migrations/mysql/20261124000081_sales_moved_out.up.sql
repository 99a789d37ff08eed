-- moved_out: number of the last move of units that this portion has given, as initial counts it; 0: it gave none
ALTER TABLE sales ADD COLUMN moved_out BIGINT NOT NULL DEFAULT 0
