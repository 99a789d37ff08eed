package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// replicaTimeout is how long replicas may take to have a group of buys. Below callTimeout, so that Redis says how many
// have it before the call is given up.
const replicaTimeout = 400 * time.Millisecond

// errTooFew means that the buys are accepted on a primary that may die with them.
var errTooFew = fmt.Errorf("%w: too few replicas have it", app.ErrTransient)

// processReplicated makes a call on keys of one slot and succeeds only when enough replicas have it. Otherwise the
// outcome is unknown and the same call is repeated (I6), which waits as well. Call and WAIT go to one server on one
// connection: in a pipeline of the cluster's client a redirected call would leave its WAIT behind.
func (l *Inventory) processReplicated(ctx context.Context, key string, call *redis.Cmd) ([]any, error) {
	cluster, server := l.servers.cluster, l.client
	if cluster != nil {
		primary, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		server = primary
	}
	var have *redis.Cmd
	_, _ = server.Pipelined(ctx, func(p redis.Pipeliner) error {
		_ = p.Process(ctx, call)
		have = p.Do(ctx, "wait", l.replicas, replicaTimeout.Milliseconds())
		return nil
	})
	reply, err := call.Slice()
	if err != nil {
		if cluster != nil {
			cluster.ReloadState(ctx) // learns where slots are now; it does not wait
		}
		return nil, err
	}
	switch n, err := have.Int64(); {
	case err != nil:
		return nil, fmt.Errorf("wait for replicas: %w", err)
	case n < int64(l.replicas):
		return nil, errTooFew
	}
	return reply, nil
}
