//go:build cluster

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// The shipped account (deploy/redis.acl) has all permissions that the program needs over TLS, also during failovers of
// a cluster and of a primary behind sentinels. The sentinels require an account, too.
func TestRestrictedRedisAccountSurvivesFailoverOverTLS(t *testing.T) {
	const password = "of-the-test-only"
	certificate := kit.NewCertificate(t)
	account, text := kit.ShippedACL(t, password)
	sentinels := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# sentinel: "); ok {
			sentinels = strings.TrimSpace(rest)
		}
	}
	if sentinels == "" {
		t.Fatal("deploy/redis.acl has no account for the sentinels")
	}
	settings := append([]string{"STAMPEDE_REDIS_CA=" + certificate.PEM(t)}, waitForReplica...)
	include := []string{"--include", account}

	t.Run("cluster", func(t *testing.T) {
		cluster := kit.StartRedisClusterWith(t,
			kit.ClusterOptions{Primaries: 3, Replicas: 3, TLS: certificate, Args: include})
		w := open(t, strings.Replace(cluster.URL, "://", "://stampede:"+password+"@", 1), settings...)
		f := failover{world: w, primary: cluster.Primaries[1], replicas: cluster.Replicas[1:2], needsReplica: true}
		for p, primary := range w.primaries() {
			f.onPrimary[p] = primary == f.primary.Addr()
		}
		w.checkPermissions()
		f.execute()
	})
	t.Run("sentinels", func(t *testing.T) {
		servers := kit.StartSentinels(t,
			kit.SentinelOptions{Replicas: 2, TLS: certificate, Args: include, User: sentinels})
		w := open(t, fmt.Sprintf("rediss-sentinel://stampede:%s@%s/%s?sentinel_username=stampede&sentinel_password=%s",
			password, servers.Hosts, servers.Name(), password), settings...)
		f := failover{world: w, primary: servers.Primary, replicas: servers.Replicas, needsReplica: true}
		for p := range f.onPrimary {
			f.onPrimary[p] = true
		}
		w.checkPermissions()
		f.execute()
	})
}

// checkPermissions checks that `checkconfig` reports no missing permission.
func (w *world) checkPermissions() {
	w.t.Helper()
	if out, code := w.run("checkconfig"); code != 0 {
		w.t.Errorf("checkconfig exits %d:\n%s", code, out)
	}
}
