DROP TABLE IF EXISTS order_states
