package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/test/kit"
)

// TestRedisClientsDoNotRetry: a lost reply returns an error after one call (I6). A retry inside the client would not
// check that the repetition is safe, and would exceed the deadline of the caller.
func TestRedisClientsDoNotRetry(t *testing.T) {
	t.Parallel()
	proxy := kit.NewProxy(t, kit.Redis(t))
	options, err := redis.ParseURL(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := &stores{}
	s.connect(singleAddress(options), 2)
	t.Cleanup(func() { _ = s.close() })
	for name, client := range map[string]redis.UniversalClient{"calls": s.client, "blocking": s.blocking} {
		ctx := kit.Context(t)
		sha, err := client.ScriptLoad(ctx, "return redis.call('INCR', KEYS[1])").Result()
		if err != nil {
			t.Fatal(err)
		}
		proxy.DropReplies("evalsha", 1)
		if n, err := client.EvalSha(ctx, sha, []string{name}).Int(); err == nil {
			t.Errorf("%s: got the reply %d although it was lost", name, n)
		}
		if n, err := client.Get(ctx, name).Int(); err != nil || n != 1 {
			t.Errorf("%s: got %d runs of the script and error %v, want one run", name, n, err)
		}
	}
}

// TestNodeRestoresTheLagOfItsGroup: a running node restores the lag of XINFO GROUPS after Redis has lost the read
// position of the group (P7). Redis loses it when it replays its append-only file.
func TestNodeRestoresTheLagOfItsGroup(t *testing.T) {
	t.Parallel()
	address := kit.Redis(t)
	n := startNode(t, embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL="+address, "STAMPEDE_MYSQL_DSN="+kit.MySQL(t),
		"STAMPEDE_JWT_SECRET="+goodSecret, "STAMPEDE_PARTITIONS=1"),
		Options{Migrate: true, Rolling: true}).ready().logInGuest()
	n.waitSettled(n.buy(n.firstOpenSale().ID, "key-lag-1").Order)
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	ctx := kit.Context(t)
	const stream = "stampede:{0}:orders"
	group := func() redis.XInfoGroup {
		t.Helper()
		groups, err := client.XInfoGroups(ctx, stream).Result()
		if err != nil || len(groups) != 1 {
			t.Fatalf("got groups %v and error %v, want one group", groups, err)
		}
		return groups[0]
	}
	last := group().LastDeliveredID
	if err := client.Do(ctx, "XGROUP", "SETID", stream, "fulfil", last, "ENTRIESREAD", 0).Err(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, func() (bool, string) {
		g := group()
		return g.Lag == 0 && g.EntriesRead == 1, fmt.Sprintf("P7: all entries are delivered, XINFO has %+v", g)
	})
}
