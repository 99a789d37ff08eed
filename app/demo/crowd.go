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
	// referenceSlot is the slot length for which the times below are set; in shorter slots the times are shorter.
	referenceSlot = 5 * time.Minute
	// crowdRate is the number of buys per second by the whole crowd. It does not grow with the crowd, so that a slot of
	// five minutes sells nearly all of its about 350 units, but not before its end.
	crowdRate = 1.2
	// minMeanPause is the minimum mean pause between two buys of one shopper.
	minMeanPause = 10 * time.Second
	// rushPeriod is the period after the opening of a slot in which the shoppers make their first moves.
	rushPeriod = 20 * time.Second
	// connectPeriod is the period in which the crowd connects.
	connectPeriod = 3 * time.Second
	// maxReconnectPause is the maximum pause of a shopper after losing the connection.
	maxReconnectPause = 4 * time.Second
)

// Crowd is a number of simulated shoppers.
type Crowd struct {
	Base  string // http://host:port of the shop
	Sim   string // http://host:port of the simulated Alipay; empty: the shoppers never pay
	Count int
	Seed  string        // the same seed produces the same behaviour
	Slot  time.Duration // length of slots; 0: five minutes
}

// Run lets the crowd shop until ctx ends, and returns when all shoppers have left.
func (c *Crowd) Run(ctx context.Context) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Seed)) // it never fails
	var wg sync.WaitGroup
	for i := range c.Count {
		s := &shopper{
			base: c.Base, sim: c.Sim, random: rand.New(rand.NewPCG(h.Sum64(), uint64(i))), pace: c.pace(),
			rush: c.scaled(rushPeriod),
			name: "shopper " + strconv.Itoa(i+1),
		}
		wg.Go(func() { s.run(ctx) })
	}
	wg.Wait()
}

// pace returns the mean pause between two buys of one shopper.
func (c *Crowd) pace() time.Duration {
	return c.scaled(max(minMeanPause, time.Duration(float64(c.Count)/crowdRate*float64(time.Second))))
}

// scaled converts a time for a slot of ordinary length to the slots of this shop. The minimum is minPause.
func (c *Crowd) scaled(d time.Duration) time.Duration {
	if c.Slot == 0 || c.Slot >= referenceSlot {
		return d
	}
	return max(minPause, time.Duration(float64(d)*float64(c.Slot)/float64(referenceSlot)))
}

// run connects repeatedly, with a pause after each visit.
func (s *shopper) run(ctx context.Context) {
	for pause := s.randomUpTo(connectPeriod); shop.Sleep(ctx,
		pause); pause = time.Second + s.randomUpTo(maxReconnectPause) {
		if err := s.visit(ctx); ctx.Err() == nil {
			slog.DebugContext(ctx, s.name+" lost the connection", "err", err)
		}
	}
}

// randomUpTo returns a random time below d.
func (s *shopper) randomUpTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Float64() * float64(d))
}
