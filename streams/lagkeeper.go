package streams

import (
	"context"
	"fmt"
	"time"

	"stampede/app/shop"
)

const (
	lagEvery = time.Second
	lagCount = 1000 // undelivered entries that are counted one by one: some milliseconds of Redis
)

// LagKeeper keeps XINFO GROUPS correct for all partitions (P7). After Redis 7.0 has replayed its append-only file, lag
// is nil or wrong; the keeper corrects it within a second.
type LagKeeper struct{ inventory *Inventory }

// NewLagKeeper makes the keeper for all partitions.
func NewLagKeeper(l *Inventory) *LagKeeper { return &LagKeeper{inventory: l} }

// Run checks once a second until ctx ends.
func (k *LagKeeper) Run(ctx context.Context) error {
	return shop.Repeat(ctx, lagEvery, "keep lag", func(ctx context.Context) error {
		_, err := k.runOnce(ctx)
		return err
	})
}

// runOnce returns how many groups were corrected.
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
	if err != nil && shop.AwayOf(err) == nil {
		return fixed, fmt.Errorf("check lag: %w", err)
	}
	return fixed, nil
}
