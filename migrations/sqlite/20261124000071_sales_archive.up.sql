-- moved_at: when the first of its orders went to the archive, so an order that is written to the sale now is looked for there
-- first; 0: none has. archive_at, blank_at: when its orders are looked at next, to move them, or to take what they say of
-- people out of them; NULL: none is left. Unix ms.
ALTER TABLE sales ADD COLUMN moved_at INTEGER NOT NULL DEFAULT 0
--bun:split
ALTER TABLE sales ADD COLUMN archive_at INTEGER NULL DEFAULT 0
--bun:split
ALTER TABLE sales ADD COLUMN blank_at INTEGER NULL DEFAULT 0
--bun:split
-- SalesToArchive: most sales are NULL after a while
CREATE INDEX sales_archive ON sales (archive_at, closes_at, id)
--bun:split
-- SalesToBlank
CREATE INDEX sales_blank ON sales (blank_at, closes_at, id)
