DROP TABLE journal_head
