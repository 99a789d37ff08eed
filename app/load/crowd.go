package load

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
)

// maxLoops limits the number of event loops that share the crowd. More loops would only take cores from the server.
const maxLoops = 2

// crowd contains all simulated shoppers.
type crowd struct {
	target  *target
	loops   []*loop
	sockets []*socket
	began   time.Time
}

// newCrowd makes n shoppers with their own tokens, not connected yet. Their user ids start at the current time in µs ×
// 1000, so that runs do not share shoppers.
func newCrowd(n int, to *target, token func(user shop.ID) (string, error)) (*crowd, error) {
	c := &crowd{target: to, began: time.Now()}
	for range min(maxLoops, runtime.GOMAXPROCS(0)) {
		l, err := newLoop(c.began)
		if err != nil {
			return nil, err
		}
		c.loops = append(c.loops, l)
	}
	first := c.began.UnixMicro() * 1000
	for i := range n {
		user := shop.ID(first + int64(i))
		signed, err := token(user)
		if err != nil {
			return nil, fmt.Errorf("token of user %s: %w", user, err)
		}
		s := &socket{fd: -1, index: i, user: user, token: signed}
		c.sockets = append(c.sockets, s)
		l := c.loops[i%len(c.loops)]
		l.sockets = append(l.sockets, s)
	}
	return c, nil
}

// close closes all connections.
func (c *crowd) close() {
	for _, l := range c.loops {
		for _, s := range l.sockets {
			l.drop(s)
		}
		l.poller.close()
	}
}

// runPhase runs one part of a phase on each loop and waits for all of them.
func runPhase[P phase](ctx context.Context, c *crowd, parts []P) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, l := range c.loops {
		g.Go(func() error { return l.run(ctx, parts[i]) })
	}
	return g.Wait()
}

// share returns the part of n that the loop with this number gets.
func (c *crowd) share(n, number int) int {
	return n/len(c.loops) + min(1, max(0, n%len(c.loops)-number))
}

// takeRefusalsAndLosses returns and clears the refusals and losses of all loops.
func (c *crowd) takeRefusalsAndLosses() (refusals, losses map[string]int) {
	refusals, losses = make(map[string]int), make(map[string]int)
	for _, l := range c.loops {
		addCounts(refusals, l.refusals)
		addCounts(losses, l.losses)
		clear(l.refusals)
		clear(l.losses)
	}
	return refusals, losses
}

// countOrders counts reservations and order events of the whole crowd.
func (c *crowd) countOrders() (reserved, orders int) {
	for _, s := range c.sockets {
		reserved += s.reserved
		orders += s.orders
	}
	return reserved, orders
}
