DROP TABLE IF EXISTS problems
--bun:split
DROP TABLE IF EXISTS pruned_orders
--bun:split
DROP TABLE IF EXISTS orders
