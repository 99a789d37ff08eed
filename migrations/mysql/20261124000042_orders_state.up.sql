-- orders_due has the orders of a state in their order here.
DO 0
