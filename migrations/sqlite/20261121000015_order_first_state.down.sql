-- SQLite cannot change the default of a column. Its INSERT says everything (see app/store/dialect.go).
SELECT 1
