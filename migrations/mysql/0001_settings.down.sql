DROP TABLE IF EXISTS versioned_settings
--bun:split
DROP TABLE IF EXISTS settings
