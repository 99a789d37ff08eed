package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// attending is a phase in which nothing is sent: it takes in what comes until it is over, and looks again after each
// wait whether it is.
type attending func(l *loop) (wait time.Duration, over bool)

func (attending) heard(*loop, *socket, message) {}

func (p attending) act(l *loop) (time.Duration, bool) { return p(l) }

// attend lets the whole crowd only hear.
func (c *crowd) attend(ctx context.Context, p attending) error {
	return play(ctx, c, slices.Repeat([]attending{p}, len(c.loops)))
}

// meanwhile does something that is not about the sockets while the crowd goes on hearing: a server gives up a socket
// whose shopper does not answer its pings.
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
