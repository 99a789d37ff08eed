package load

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// meanwhile does something that is not about the sockets while the crowd goes on hearing: a server gives up a socket
// whose shopper does not answer its pings.
func (b *bench) meanwhile(ctx context.Context, do func() error) error {
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		defer over.Store(true)
		done <- do()
	}()
	parts := make([]*attending, len(b.crowd.loops))
	for i := range parts {
		parts[i] = &attending{over: &over}
	}
	err := play(ctx, b.crowd, parts)
	return errors.Join(<-done, err)
}

// attending takes in what comes until something else is over.
type attending struct{ over *atomic.Bool }

func (p *attending) heard(*loop, *socket, message) {}

func (p *attending) act(*loop) (time.Duration, bool) { return 10 * time.Millisecond, p.over.Load() }
