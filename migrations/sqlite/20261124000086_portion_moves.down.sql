DROP TABLE portion_moves
