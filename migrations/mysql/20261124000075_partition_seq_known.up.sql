UPDATE partitions SET seq =
  (SELECT COALESCE(MAX(seq), 0) FROM sales WHERE part = partitions.id AND retired_at > 0)
