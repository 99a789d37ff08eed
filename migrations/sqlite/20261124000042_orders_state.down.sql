DROP INDEX orders_state
