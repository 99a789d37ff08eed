DROP INDEX sales_portions
