-- Witnesses: the order whose row has the highest seq. A Redis that does not know it has lost writes (I8).
ALTER TABLE sales ADD COLUMN last_order BIGINT NOT NULL DEFAULT 0
