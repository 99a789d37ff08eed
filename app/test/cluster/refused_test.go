//go:build cluster

package cluster

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// A wrong address of Redis ends `serve` with a sentence that names the variable and what to do, instead of a wait for
// ever. No password is in it.
func TestServeRefusesAWrongRedis(t *testing.T) {
	certificate := kit.NewCertificate(t)
	cluster := kit.StartRedisClusterWith(t, kit.ClusterOptions{
		Primaries: 3, TLS: certificate, Args: []string{"--user", "shop", "on", ">right", "~*", "&*", "+@all"},
	})
	alone := strings.TrimSuffix(kit.StartRedis(t, kit.RedisOptions{Durable: true}).URL, "/0")
	host := cluster.Primaries[0].Addr()
	trusted := "STAMPEDE_REDIS_CA=" + certificate.PEM(t)
	stranger := "STAMPEDE_REDIS_CA=" + kit.NewCertificate(t).PEM(t)
	for name, c := range map[string]struct {
		url, ca string
		words   []string
	}{
		"a node of a cluster under a plain address": {
			"rediss://" + host, trusted, []string{"STAMPEDE_REDIS_URL", "redis-cluster://"},
		},
		"a server without a cluster under the address of one": {
			"redis-cluster" + strings.TrimPrefix(alone, "redis"), "", []string{"STAMPEDE_REDIS_URL", "cluster"},
		},
		"no such form": {"redis-clusters://:hunter2@" + host, "", []string{"STAMPEDE_REDIS_URL", "want redis://"}},
		"sentinels without a master": {
			"redis-sentinel://:hunter2@" + host, "", []string{"STAMPEDE_REDIS_URL", "names no master"},
		},
		"a wrong password": {
			"rediss-cluster://shop:hunter2@" + host, trusted, []string{"STAMPEDE_REDIS_URL", "WRONGPASS"},
		},
		"certificates of somebody else": {
			"rediss-cluster://shop:right@" + host, stranger, []string{"STAMPEDE_REDIS_URL", "STAMPEDE_REDIS_CA_FILE"},
		},
		"an authority, and no TLS": {alone, trusted, []string{"STAMPEDE_REDIS_CA", "rediss://"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, settings: []string{
				"STAMPEDE_REDIS_URL=" + c.url, "STAMPEDE_MYSQL_DSN=" + kit.MySQL(t), "STAMPEDE_JWT_SECRET=" + secret,
				"STAMPEDE_LISTEN=127.0.0.1:0", "STAMPEDE_METRICS_LISTEN=127.0.0.1:0", c.ca,
			}}
			out, code := w.run("serve", "--migrate")
			if code <= 0 || strings.Contains(out, "hunter2") {
				t.Errorf("serve exits %d:\n%s", code, out)
			}
			for _, word := range c.words {
				if !strings.Contains(out, word) {
					t.Errorf("serve does not say %q:\n%s", word, out)
				}
			}
		})
	}
}
