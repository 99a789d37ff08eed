-- SQLite cannot change a constraint of a table, and rewriting all orders is not worth it: there the key begins with the sale,
-- and OrdersOf has orders_user.
SELECT 1
