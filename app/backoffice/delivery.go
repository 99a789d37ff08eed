package backoffice

import (
	"context"
)

// Quarantine keeps messages that could not be delivered until an operator replays or drops them.
type Quarantine[M any] interface {
	// Quarantined returns them, oldest first.
	Quarantined(ctx context.Context) ([]M, error)
	// Replay delivers one again. ErrNoRow: there is none. ErrPermanent: it cannot be delivered.
	Replay(ctx context.Context, id string) error
	// Drop deletes one; false: there is none.
	Drop(ctx context.Context, id string) (bool, error)
}
