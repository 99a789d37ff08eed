package streams

import (
	"context"
	"math/rand/v2"
	"time"

	"stampede/app"
)

// drainTime is how long the work at hand may go on after a duty was told to end.
const drainTime = 5 * time.Second

// finishing is a context for the work at hand: it outlives ctx by drainTime, so that a clean shutdown leaves nothing
// half done, and then ends as well.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if app.Sleep(work, drainTime) {
			cancel()
		}
	})
	return work, func() { stop(); cancel() }
}

// meanwhile runs work and calls also from time to time until it is over. It returns when both have.
func meanwhile(
	ctx context.Context, every time.Duration, also func(context.Context), work func(context.Context) error,
) error {
	side, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for app.Sleep(side, every) {
			also(ctx)
		}
	}()
	defer func() { cancel(); <-over }()
	return work(ctx)
}

// backoff is a growing pause with jitter, so that many who fail together do not come back together.
type backoff struct {
	first, longest time.Duration
	now            time.Duration
}

// next is the pause to keep now: between half and all of a value that doubles each time.
func (b *backoff) next() time.Duration {
	b.now = min(max(b.first, b.now*2), b.longest)
	return b.now/2 + rand.N(b.now/2+1)
}

func (b *backoff) reset() { b.now = 0 }
