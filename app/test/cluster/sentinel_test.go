//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// P1, P2, P4, I8: three sentinels monitor the primary, which is killed during a sale. They promote one of its two
// replicas, and the nodes connect to the new primary. A reply is sent after one replica has confirmed the write. On a
// busy machine the sentinels may promote the replica that has not confirmed it. Even in this case no order may be lost.
// TestClusterFailoverReportsLostOrders covers replies that are sent without the confirmation of a replica.
func TestSentinelFailoverLosesNoOrder(t *testing.T) {
	for name, f := range map[string]failover{
		"replicas are current": {},
		"replicas are behind":  {behind: true, needsReplica: true},
	} {
		t.Run(name, func(t *testing.T) {
			servers := kit.StartSentinels(t, kit.SentinelOptions{Replicas: 2})
			f.world = open(t, "redis-sentinel://"+servers.Hosts+"/"+servers.Name(), waitForReplica...)
			f.primary, f.replicas = servers.Primary, servers.Replicas
			for p := range f.onPrimary {
				f.onPrimary[p] = true
			}
			f.execute()
		})
	}
}
