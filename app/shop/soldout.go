package shop

import (
	"time"
)

const (
	// FlagLife is how long a sold-out flag counts, from before the read that confirmed it. Units that come back to an
	// empty stock rest longer than this in Redis, so that a valid flag knows everybody who was accepted (I9).
	FlagLife = 200 * time.Millisecond
)
