-- What was noted goes with its column.
SELECT 1
