package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/backoffice"
	"stampede/app/store"
)

// shows is the replica, if one is named.
func (s *stores) shows() backoffice.Reader {
	if s.replica != nil {
		return s.replica
	}
	return s.db
}

// replicaWeaknesses says why a replica that is named would not be read: the shop works without it.
func (s *stores) replicaWeaknesses(ctx context.Context) []Weakness {
	if s.replica == nil {
		return nil
	}
	err := s.replica.Check(ctx)
	if err == nil {
		return nil
	}
	risk := "the primary answers lists and reports as well: " + err.Error()
	return []Weakness{weaknessOf("MySQL replica", store.WeakSetting{Risk: risk}, false)}
}

// registerReplica shows how much the replica takes off the primary; nil: nothing.
func registerReplica(registry *prometheus.Registry, replica *store.Replica) {
	for i, from := range []string{"replica", "primary"} {
		read := func() int64 {
			if replica == nil {
				return 0
			}
			fromReplica, fromPrimary := replica.Reads()
			return [...]int64{fromReplica, fromPrimary}[i]
		}
		counter(registry, "stampede_replica_reads_total",
			"Lists and reports that this node read while a replica was named, by who answered.", read, "from", from)
	}
}
