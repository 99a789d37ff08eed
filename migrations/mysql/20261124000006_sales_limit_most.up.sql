-- SaleTotals: the highest limit that an edit has replaced. Who bought under it is not over the limit (P4).
ALTER TABLE sales ADD COLUMN limit_most INT NOT NULL DEFAULT 0
