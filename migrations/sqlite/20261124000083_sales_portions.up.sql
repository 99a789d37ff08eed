CREATE INDEX sales_portions ON sales (portion_of)
