DROP TABLE trades
