package demo

import (
	"context"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// ordinary is the length of a slot for which the paces below are made; in shorter ones everything is faster.
	ordinary = 5 * time.Minute
	// crowdRate is how often the whole crowd buys, per second: however large it is, a slot of five minutes sells
	// over minutes, not at once.
	crowdRate = 4.0
	// busiest is how often one shopper buys at most.
	busiest = 10 * time.Second
	// rush is over what time a crowd makes its first move after a slot has opened.
	rush = 20 * time.Second
	// arrival is over what time the crowd comes in.
	arrival = 3 * time.Second
	// away is how long a shopper stays away after losing the connection, at most.
	away = 4 * time.Second
)

// Crowd is a number of simulated shoppers.
type Crowd struct {
	Base  string // http://host:port of the shop
	Count int
	Seed  string        // the same seed makes the same characters
	Slot  time.Duration // how long slots last; 0: five minutes
}

// Run lets the crowd shop until ctx ends, and returns when everybody has left.
func (c *Crowd) Run(ctx context.Context) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Seed)) // it never fails
	var wg sync.WaitGroup
	for i := range c.Count {
		s := &shopper{
			base: c.Base, random: rand.New(rand.NewPCG(h.Sum64(), uint64(i))), pace: c.pace(), rush: c.scaled(rush),
			name: "shopper " + strconv.Itoa(i+1),
		}
		wg.Go(func() { s.live(ctx) })
	}
	wg.Wait()
}

// pace is the mean pause between two buys of one shopper.
func (c *Crowd) pace() time.Duration {
	return c.scaled(max(busiest, time.Duration(float64(c.Count)/crowdRate*float64(time.Second))))
}

// scaled is a time for a slot of ordinary length, as it is in the slots of this shop. Nobody moves more than once a
// second.
func (c *Crowd) scaled(d time.Duration) time.Duration {
	if c.Slot == 0 || c.Slot >= ordinary {
		return d
	}
	return max(shortest, time.Duration(float64(d)*float64(c.Slot)/float64(ordinary)))
}

// live comes in again and again, with a pause after each visit that went wrong.
func (s *shopper) live(ctx context.Context) {
	for pause := s.upTo(arrival); shop.Sleep(ctx, pause); pause = time.Second + s.upTo(away) {
		if err := s.visit(ctx); ctx.Err() == nil {
			slog.DebugContext(ctx, s.name+" lost the connection", "err", err)
		}
	}
}

// upTo draws a time below d.
func (s *shopper) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Float64() * float64(d))
}
