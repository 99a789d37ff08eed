package streams

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// courier keeps a bounded number of deliveries of stream entries under way at the same time.
type courier struct {
	pace   *pace
	places int
	from   string // which stream, for the log
	read   func(context.Context, int) ([]redis.XMessage, error)
	begin  func(m redis.XMessage) (deliver func()) // called in the order of the entries
}

// run delivers until ctx ends. It reads no more than it can begin at once, so that nothing grows old in its hands;
// while the receiver takes nothing it sends one at a time to see whether that is over.
func (c *courier) run(ctx context.Context) {
	fault := backoff{first: time.Second, longest: 30 * time.Second}
	free := make(chan struct{}, c.places)
	var under sync.WaitGroup
	defer under.Wait()
	for {
		if c.pace.failing() {
			under.Wait() // before the pause is looked at: what comes to nothing begins one
		}
		if !c.pace.wait(ctx) {
			return
		}
		careful := c.pace.failing()
		n := 0
		for n < c.places && (n == 0 || !careful) && acquire(ctx, free, n == 0) {
			n++
		}
		if n == 0 {
			return
		}
		if !careful && c.pace.failing() { // the delivery that left the place has found that nothing is taken
			release(free, n)
			continue
		}
		entries, err := c.read(ctx, n)
		release(free, n-len(entries))
		if err != nil {
			if ctx.Err() == nil {
				slog.WarnContext(ctx, "read "+c.from, "err", err)
				app.Sleep(ctx, fault.next())
			}
			continue
		}
		fault.reset()
		for _, m := range entries {
			deliver := c.begin(m)
			under.Go(func() {
				defer func() { <-free }()
				deliver()
			})
		}
	}
}

// acquire occupies a free place; when it need not wait, false means that there is none now.
func acquire(ctx context.Context, free chan struct{}, wait bool) bool {
	select {
	case free <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	select {
	case free <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// release leaves places that were occupied.
func release(free <-chan struct{}, n int) {
	for range n {
		<-free
	}
}
