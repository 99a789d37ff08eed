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
func (k *LagKeeper) runOnce(ctx context.Context) (int, error) {
	calls := make([]call, len(k.inventory.parts))
	for p := range calls {
		keys := &k.inventory.parts[p].keys
		calls[p] = call{keys: []string{keys.meta, keys.orders, keys.waiting}, args: []any{lagCount}}
	}
	replies, err := lagScript.runAll(ctx, k.inventory.client, calls)
	if err != nil {
		return 0, fmt.Errorf("check lag: %w", err)
	}
	fixed := 0
	for _, reply := range replies {
		if integer(reply[0]) == 1 {
			fixed++
		}
	}
	k.inventory.metrics.lagFixed.Add(float64(fixed))
	return fixed, nil
}
