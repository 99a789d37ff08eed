-- portion_of: the sale that sale_id is a further portion of, which is the one that its buyer knows; 0: sale_id is that
ALTER TABLE orders ADD COLUMN portion_of INTEGER NOT NULL DEFAULT 0
