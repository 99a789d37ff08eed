-- FindOrders: orders of a state; orders_due has the pending ones alone here.
CREATE INDEX orders_state ON orders (state, pay_by)
