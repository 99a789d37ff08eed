DROP TABLE IF EXISTS journal_head
--bun:split
DROP TABLE IF EXISTS journal
