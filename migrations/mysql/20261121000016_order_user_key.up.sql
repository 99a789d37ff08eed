-- Insert: a unique key that begins with the buyer spares each row an entry of orders_user. A sale still has orders_sale.
ALTER TABLE orders
  DROP KEY orders_key,
  DROP KEY orders_user,
  -- Insert: one order per key of a buyer (P4); OrdersOf: a buyer's orders
  ADD UNIQUE KEY orders_key (user_id, sale_id, idem_key)
