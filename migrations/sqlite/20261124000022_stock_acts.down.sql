DROP TABLE stock_acts
