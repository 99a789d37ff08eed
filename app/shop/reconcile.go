package shop

import (
	"time"
)

// RetireAfter is how long after its end a sale keeps its keys in Redis, so that late retries of a buy are answered.
const RetireAfter = 24 * time.Hour
