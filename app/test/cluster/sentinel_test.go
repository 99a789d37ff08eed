//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// P1, P2, P4, I8: the primary that three sentinels watch is killed in mid-sale, and they promote one of its two
// replicas. The nodes find it by themselves, also after the next one dies.
func TestPrimaryBehindSentinelsDies(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		settings []string
		behind   bool
		loses    loss
	}{
		{name: "its replicas are there", loses: inFlight},
		{name: "its replicas are behind", behind: true, loses: much},
		{name: "its replicas are behind and writes need one", behind: true, loses: inFlight, args: minReplicas},
		{name: "its replicas are behind and answers wait for one", behind: true, settings: waiting},
	} {
		t.Run(c.name, func(t *testing.T) {
			servers := kit.StartSentinels(t, kit.SentinelOptions{Replicas: 2, Args: c.args})
			w := open(t, "redis-sentinel://"+servers.Hosts+"/"+servers.Name(), c.settings...)
			f := failover{
				world: w, primary: servers.Primary, replicas: servers.Replicas, behind: c.behind, loses: c.loses,
				needsReplica: len(c.args)+len(c.settings) > 0,
			}
			for p := range f.hit {
				f.hit[p] = true
			}
			f.play()
		})
	}
}
