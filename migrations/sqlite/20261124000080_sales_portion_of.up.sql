-- portion_of: the sale that this row is a portion of, which is spread over several partitions; the sale itself is its first
-- portion. 0: it is not spread. Further portions are in no slot and are listed nowhere.
ALTER TABLE sales ADD COLUMN portion_of INTEGER NOT NULL DEFAULT 0
