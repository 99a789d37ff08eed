//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// P1, P2, P4, I8: three sentinels monitor the primary, which is killed during a sale. They promote one of its two
// replicas, and the nodes find it. Replies wait for a replica: on a busy machine the sentinels may also promote the
// other replica, and even then nothing may be lost. TestClusterFailoverReportsLostOrders covers replies that do not
// wait.
func TestSentinelFailoverLosesNoOrder(t *testing.T) {
	for name, f := range map[string]failover{
		"replicas are current": {},
		"replicas are behind":  {behind: true, needsReplica: true},
	} {
		t.Run(name, func(t *testing.T) {
			servers := kit.StartSentinels(t, kit.SentinelOptions{Replicas: 2})
			f.world = open(t, "redis-sentinel://"+servers.Hosts+"/"+servers.Name(), waitForReplica...)
			f.primary, f.replicas = servers.Primary, servers.Replicas
			for p := range f.hit {
				f.hit[p] = true
			}
			f.execute()
		})
	}
}
