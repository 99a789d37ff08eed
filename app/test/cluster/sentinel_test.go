//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// P1, P2, P4, I8: three sentinels watch the primary, which is killed in mid-sale. They promote one of its two replicas,
// and the nodes find it. TestPrimaryOfAClusterDies has the cases in which replicas are behind and answers do not wait.
func TestPrimaryBehindSentinelsDies(t *testing.T) {
	for name, f := range map[string]failover{
		"its replicas are there":                           {loses: inFlight},
		"its replicas are behind and answers wait for one": {behind: true, needsReplica: true},
	} {
		t.Run(name, func(t *testing.T) {
			servers := kit.StartSentinels(t, kit.SentinelOptions{Replicas: 2})
			var settings []string
			if f.needsReplica {
				settings = waiting
			}
			f.world = open(t, "redis-sentinel://"+servers.Hosts+"/"+servers.Name(), settings...)
			f.primary, f.replicas = servers.Primary, servers.Replicas
			for p := range f.hit {
				f.hit[p] = true
			}
			f.play()
		})
	}
}
