-- SaleTotals: the highest limit that an edit has replaced. Who bought under it is not over the limit (P4).
ALTER TABLE sales ADD COLUMN limit_most INTEGER NOT NULL DEFAULT 0
