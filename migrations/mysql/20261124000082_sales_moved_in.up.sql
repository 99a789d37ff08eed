-- moved_in: number of the last move of units that this portion has got, as initial counts it; 0: it got none
ALTER TABLE sales ADD COLUMN moved_in BIGINT NOT NULL DEFAULT 0
