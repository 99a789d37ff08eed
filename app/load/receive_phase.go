package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// receivePhase is a phase that sends no ops and only receives. Its function runs after each wait and reports whether
// the phase is over.
type receivePhase func(l *loop) (wait time.Duration, over bool)

func (receivePhase) onFrame(*loop, *socket, message) {}

func (p receivePhase) step(l *loop) (time.Duration, bool) { return p(l) }

// receiveUntil lets the whole crowd receive only, until the phase is over on every loop.
func (c *crowd) receiveUntil(ctx context.Context, p receivePhase) error {
	return runPhase(ctx, c, slices.Repeat([]receivePhase{p}, len(c.loops)))
}

// whileReceiving runs the function `do` while the crowd keeps receiving, because the server closes a socket that does
// not reply to its pings.
func (b *bench) whileReceiving(ctx context.Context, do func() error) error {
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		defer over.Store(true)
		done <- do()
	}()
	err := b.crowd.receiveUntil(ctx, func(*loop) (time.Duration, bool) { return 10 * time.Millisecond, over.Load() })
	return errors.Join(<-done, err)
}
