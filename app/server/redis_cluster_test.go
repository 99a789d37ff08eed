package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/streams"
)

// TestNodeSellsOnARedisCluster runs the main flow on a Redis cluster: a buyer buys, the order gets its row, and the
// stock equation holds in all sales. A plain address of one cluster node is rejected with an explanation; the node does
// not wait.
func TestNodeSellsOnARedisCluster(t *testing.T) {
	t.Parallel()
	cluster := kit.StartRedisCluster(t, 3, 3)
	dsn := kit.MySQL(t)
	environ := func(address string) Config {
		return embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL="+address, "STAMPEDE_MYSQL_DSN="+dsn,
			"STAMPEDE_JWT_SECRET="+goodSecret, "STAMPEDE_PARTITIONS=8")
	}
	config := environ(cluster.URL)
	n := startNode(t, config, Options{Migrate: true, Rolling: true}).ready().logInGuest()
	sale := n.firstOpenSale().ID
	n.waitSettled(n.buy(sale, "key-cluster-1").Order)

	ctx := kit.Context(t)
	tools, err := OpenTools(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	reports, err := tools.Audit(ctx)
	if err != nil || len(reports) == 0 {
		t.Fatalf("audit: got %d sales and error %v", len(reports), err)
	}
	for _, r := range reports {
		if len(r.Failures) > 0 {
			t.Errorf("got audit report %+v, want no failure", r)
		}
	}
	missing, weak, err := tools.CheckStores(ctx)
	if err != nil || len(missing) > 0 {
		t.Errorf("checks on a cluster: missing %v, %v, want none", missing, err)
	}
	for _, w := range weak {
		if w.Store == "Redis" {
			t.Errorf("a weakness of a cluster does not name its server: %+v", w)
		}
	}
	checkFailoverWarnings(t, config, cluster)
	places, err := tools.PartitionPlaces(ctx)
	on := make(map[string]int)
	for _, p := range places {
		on[p.Primary]++
	}
	if err != nil || len(places) != config.Partitions || len(on) != 3 {
		t.Errorf("got partitions at %+v, %v, want them on three primaries", places, err)
	}
	for primary, partitions := range on {
		if least := config.Partitions / 3; partitions < least || partitions > least+1 {
			t.Errorf("primary %s has %d of %d partitions", primary, partitions, config.Partitions)
		}
	}

	options, err := redis.ParseURL(cluster.Primaries[1].URL)
	if err != nil {
		t.Fatal(err)
	}
	plain := redis.NewClient(options)
	defer plain.Close()
	err = streams.CheckReachable(ctx, plain)
	if !errors.Is(err, shop.ErrMisconfigured) || !strings.Contains(err.Error(), "redis-cluster://") {
		t.Errorf("plain address of one cluster node: got %v, want ErrMisconfigured with redis-cluster://", err)
	}
	single, err := OpenTools(ctx, environ(cluster.Primaries[1].URL))
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close()
	if _, _, err := single.CheckStores(ctx); err == nil || !strings.Contains(err.Error(), "redis-cluster://") {
		t.Errorf("checkconfig with a plain address of one cluster node: got %v, want redis-cluster://", err)
	}
}

// TestClusterAddressOfSingleServerIsRejected: a cluster address of a server without cluster mode is rejected with an
// explanation.
func TestClusterAddressOfSingleServerIsRejected(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(kit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &stores{}
	s.connect(redisAddress{redis.UniversalOptions{IsClusterMode: true, Addrs: []string{options.Addr}}}, 2)
	t.Cleanup(func() { _ = s.close() })
	err = s.ping(kit.Context(t))
	if !errors.Is(err, shop.ErrMisconfigured) || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a server without cluster mode: got %v, want ErrMisconfigured", err)
	}
}

// checkFailoverWarnings checks that operators see the cost of a lost primary (P2): online replicas that no buy waits
// for, too few replicas for the configured wait, and a setting with which one lost primary stops all partitions.
func checkFailoverWarnings(t *testing.T, config Config, cluster *kit.RedisCluster) {
	t.Helper()
	ctx := kit.Context(t)
	countWarnings := func(replicas int, text string) int {
		t.Helper()
		with := config
		with.RedisReplicas = replicas
		tools, err := OpenTools(ctx, with)
		if err != nil {
			t.Fatal(err)
		}
		defer tools.Close()
		_, weak, err := tools.CheckStores(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, w := range weak {
			if strings.Contains(w.Message, text) && strings.HasPrefix(w.Store, "Redis 127.0.0.1:") && !w.Refused {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		replicas, want int
		text           string
	}{
		{0, 3, "min-replicas-to-write is 0"},
		{1, 0, "min-replicas-to-write"},
		{1, 0, "replicas are online"},
		{2, 3, "1 replicas are online, and STAMPEDE_REDIS_REPLICAS is 2"},
		{0, 0, "cluster-require-full-coverage"},
	} {
		if n := countWarnings(c.replicas, c.text); n != c.want {
			t.Errorf("%q with %d replicas: got warnings about %d servers, want %d", c.text, c.replicas, n, c.want)
		}
	}
	options, err := redis.ParseURL(cluster.Primaries[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	const coverage = "cluster-require-full-coverage"
	if err := client.ConfigSet(ctx, coverage, "yes").Err(); err != nil {
		t.Fatal(err)
	}
	defer client.ConfigSet(ctx, coverage, "no")
	if n := countWarnings(0, coverage+" is yes"); n != 1 {
		t.Errorf("%s is yes: got warnings about %d servers, want 1", coverage, n)
	}
}

// TestPromotedPrimaryIsFound: a primary dies and breaks the connections of a busy client. The client finds the promoted
// replica within seconds, although no server sends MOVED.
func TestPromotedPrimaryIsFound(t *testing.T) {
	t.Parallel()
	const limit = 40 * time.Second // go-redis alone reloads once a minute
	cluster := kit.StartRedisCluster(t, 3, 3)
	address, err := parseRedisURL(cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := address.open(2)
	t.Cleanup(func() { _ = client.Close() })
	ctx := kit.Context(t)
	keys := make(map[string]string) // by primary
	for i := 0; len(keys) < 3; i++ {
		key := fmt.Sprintf("key-%d", i)
		primary, err := client.(*redis.ClusterClient).MasterForKey(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		keys[primary.Options().Addr] = key
	}
	lost := keys[cluster.Primaries[1].Addr()]
	set := func() error { return client.Set(ctx, lost, "value", 0).Err() }
	if err := set(); err != nil {
		t.Fatal(err)
	}
	client.(*redis.ClusterClient).ReloadState(ctx) // the minute of go-redis starts now
	cluster.Primaries[1].Kill()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		_ = set() // continuing load, like buys
		state := fmt.Sprint(cluster.Replicas[1].Do("INFO", "replication"))
		return strings.Contains(state, "role:master"), state
	})
	kit.Eventually(t, limit, func() (bool, string) {
		err := set()
		return err == nil, fmt.Sprintf("%s: %v", lost, err)
	})
}
