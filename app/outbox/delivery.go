package outbox

import (
	"errors"
	"time"
)

// ErrRejected is the permanent failure of one message: further attempts would fail, too. The message is quarantined;
// the delivery of others continues.
var ErrRejected = errors.New("rejected")

// PauseError means that a receiver accepts no message at all now. Nothing is delivered for a while.
type PauseError struct {
	After time.Duration // as the receiver asks; 0: it does not ask
	Err   error
}

func (e *PauseError) Error() string { return e.Err.Error() }

func (e *PauseError) Unwrap() error { return e.Err }
