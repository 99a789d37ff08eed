package shop

import (
	"time"
)

const (
	// busyRetry is the pause that a buyer with an unknown outcome is asked to keep.
	BusyRetry = 500 * time.Millisecond
)

func OpensIn(wait time.Duration) error {
	e := Fail(NotOpen, "the sale has not opened yet")
	e.RetryMS = max(0, wait.Milliseconds())
	return e
}
