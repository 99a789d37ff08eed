-- It is in partitions.seq, which stays when a rehearsal is forgotten.
ALTER TABLE rehearsals DROP COLUMN seq
