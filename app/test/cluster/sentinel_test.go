//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// P1, P2, P4, I8: three sentinels watch the primary, which is killed in mid-sale. They promote one of its two
// replicas, and the nodes find it. Answers wait for a replica: on a busy machine the sentinels may promote the other
// replica, too, and then nothing may be lost either. TestPrimaryOfAClusterDies has the cases in which answers do not
// wait.
func TestPrimaryBehindSentinelsDies(t *testing.T) {
	for name, f := range map[string]failover{
		"its replicas are there":  {},
		"its replicas are behind": {behind: true, needsReplica: true},
	} {
		t.Run(name, func(t *testing.T) {
			servers := kit.StartSentinels(t, kit.SentinelOptions{Replicas: 2})
			f.world = open(t, "redis-sentinel://"+servers.Hosts+"/"+servers.Name(), waiting...)
			f.primary, f.replicas = servers.Primary, servers.Replicas
			for p := range f.hit {
				f.hit[p] = true
			}
			f.play()
		})
	}
}
