DROP INDEX sales_portions ON sales
