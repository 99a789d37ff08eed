package streams

import (
	"context"
	"fmt"
	"time"

	"stampede/app"
)

const (
	lagEvery = time.Second
	// lagCount is how many undelivered entries are counted one by one: some milliseconds of Redis.
	lagCount = 1000
)

// LagKeeper keeps XINFO GROUPS truthful for all partitions (P7). Redis 7.0 forgets how many entries a group has read
// when it replays its append-only file; lag is nil or wrong from then on. The keeper sets it right within a second.
type LagKeeper struct{ inventory *Inventory }

// NewLagKeeper makes the keeper of all partitions.
func NewLagKeeper(l *Inventory) *LagKeeper { return &LagKeeper{inventory: l} }

// Run looks once a second until ctx ends.
func (k *LagKeeper) Run(ctx context.Context) error {
	return app.Repeat(ctx, lagEvery, "keep lag", func(ctx context.Context) error {
		_, err := k.runOnce(ctx)
		return err
	})
}

// runOnce answers how many groups had to be set right.
func (k *LagKeeper) runOnce(ctx context.Context) (fixed int, err error) {
	l := k.inventory
	groups, err := apart(ctx, l, l.all(), readPatience, func(ctx context.Context, some []int) (fixed int, err error) {
		calls := make([]call, len(some))
		for i, p := range some {
			keys := &l.parts[p].keys
			calls[i] = call{keys: []string{keys.meta, keys.orders, keys.waiting}, args: []any{lagCount}}
		}
		replies, errs := lagScript.runEach(ctx, l.client, calls)
		failed := make(map[int]error)
		for i, reply := range replies {
			switch {
			case errs[i] != nil:
				failed[some[i]] = errs[i]
			case integer(reply[0]) == 1:
				fixed++
			}
		}
		return fixed, awayUnlessAll(failed, len(failed) == len(some))
	})
	for _, n := range groups {
		fixed += n
	}
	l.metrics.lagFixed.Add(float64(fixed))
	if err != nil && app.AwayOf(err) == nil {
		return fixed, fmt.Errorf("check lag: %w", err)
	}
	return fixed, nil
}
