package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// attending is a phase that sends no ops and only receives. Its function runs after each wait and reports whether the
// phase is over.
type attending func(l *loop) (wait time.Duration, over bool)

func (attending) onFrame(*loop, *socket, message) {}

func (p attending) act(l *loop) (time.Duration, bool) { return p(l) }

// attend lets the whole crowd receive only, until the phase is over on every loop.
func (c *crowd) attend(ctx context.Context, p attending) error {
	return play(ctx, c, slices.Repeat([]attending{p}, len(c.loops)))
}

// meanwhile runs do while the crowd keeps receiving. The server closes a socket that does not reply to its pings.
func (b *bench) meanwhile(ctx context.Context, do func() error) error {
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		defer over.Store(true)
		done <- do()
	}()
	err := b.crowd.attend(ctx, func(*loop) (time.Duration, bool) { return 10 * time.Millisecond, over.Load() })
	return errors.Join(<-done, err)
}
