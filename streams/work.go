package streams

import (
	"context"
	"math/rand/v2"
	"time"

	"stampede/app/shop"
)

// drainTime is how long running work may continue after the end of its context.
const drainTime = 5 * time.Second

// drainContext returns a context that outlives ctx by drainTime, so that a clean shutdown completes running work.
func drainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if shop.Sleep(work, drainTime) {
			cancel()
		}
	})
	return work, func() { stop(); cancel() }
}

// runWithInterval runs work, and calls repeat once per interval until work ends. It returns when work and the last call
// of repeat have ended.
func runWithInterval(
	ctx context.Context, interval time.Duration, repeat func(context.Context), work func(context.Context) error,
) error {
	sideCtx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for shop.Sleep(sideCtx, interval) {
			repeat(ctx)
		}
	}()
	defer func() { cancel(); <-done }()
	return work(ctx)
}

// backoff is a growing pause with jitter, so that calls that failed together are not retried together.
type backoff struct {
	firstDelay, maxDelay time.Duration
	delay                time.Duration
}

// next returns a random pause between half of a value and the value, which doubles each time.
func (b *backoff) next() time.Duration {
	b.delay = min(max(b.firstDelay, b.delay*2), b.maxDelay)
	return b.delay/2 + rand.N(b.delay/2+1)
}

func (b *backoff) reset() { b.delay = 0 }
