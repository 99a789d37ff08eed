DROP TABLE journal_undos
