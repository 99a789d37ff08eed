ALTER TABLE orders
  DROP KEY orders_key,
  ADD UNIQUE KEY orders_key (sale_id, user_id, idem_key),
  ADD KEY orders_user (user_id, id)
