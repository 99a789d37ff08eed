package app

import (
	"context"
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

// Quarantine keeps messages that could not be delivered until an operator replays or drops them.
type Quarantine[M any] interface {
	// Quarantined returns them, oldest first.
	Quarantined(ctx context.Context) ([]M, error)
	// Replay delivers one again. ErrNoRow: there is none. ErrPermanent: it cannot be delivered.
	Replay(ctx context.Context, id string) error
	// Drop deletes one; false: there is none.
	Drop(ctx context.Context, id string) (bool, error)
}
