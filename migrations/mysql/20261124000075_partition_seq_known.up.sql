UPDATE partitions SET seq = GREATEST(
  (SELECT COALESCE(MAX(seq), 0) FROM sales WHERE part = partitions.id AND retired_at > 0),
  (SELECT COALESCE(MAX(seq), 0) FROM rehearsals WHERE part = partitions.id))
