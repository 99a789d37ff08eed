-- moved_at: when the first of its orders went to the archive, so an order that is written to the sale now is looked for there
-- first; 0: none has. archive_at, blank_at: when its orders are looked at next, to move them, or to take what they say of
-- people out of them; NULL: none is left. Unix ms.
ALTER TABLE sales
  ADD COLUMN moved_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN archive_at BIGINT NULL DEFAULT 0,
  ADD COLUMN blank_at BIGINT NULL DEFAULT 0,
  -- SalesToArchive, SalesToBlank: most sales are NULL after a while
  ADD KEY sales_archive (archive_at, closes_at, id),
  ADD KEY sales_blank (blank_at, closes_at, id)
