package outbox

import (
	"errors"
	"time"
)

// ErrRejected is the permanent failure of one message: further attempts would fail as well. The message is quarantined;
// the delivery of other messages continues.
var ErrRejected = errors.New("rejected")

// PauseError means that a receiver accepts no messages at the moment. Delivery pauses.
type PauseError struct {
	After time.Duration // pause that the receiver requests; 0: not specified
	Err   error
}

func (e *PauseError) Error() string { return e.Err.Error() }

func (e *PauseError) Unwrap() error { return e.Err }
