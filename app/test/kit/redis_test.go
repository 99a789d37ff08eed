package kit

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func redisClient(t *testing.T, serverURL string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// Parallel tests must not see each other's keys.
func TestRedisGivesEachTestItsOwnEmptyDatabase(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	first, second := redisClient(t, Redis(t)), redisClient(t, Redis(t))
	if err := first.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := second.DBSize(ctx).Val(); n != 0 {
		t.Fatalf("the second database has %d keys, want 0", n)
	}
}

// P2 depends on it: a durable Redis keeps acknowledged writes after SIGKILL.
func TestDurableRedisKeepsWritesAfterKill(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	server := StartRedis(t, RedisOptions{Durable: true})
	client := redisClient(t, server.URL)
	if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Fatal("a killed Redis replied")
	}
	server.Start()
	if got := client.Get(ctx, "k").Val(); got != "v" {
		t.Fatalf("after the kill k = %q, want v", got)
	}
}

func TestNonDurableRedisLosesDataOnRestart(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	server := StartRedis(t, RedisOptions{})
	client := redisClient(t, server.URL)
	client.Set(ctx, "k", "v", 0)
	server.Stop()
	server.Start()
	if n := client.DBSize(ctx).Val(); n != 0 {
		t.Fatalf("%d keys survived, want 0", n)
	}
}

func TestPausedServerRepliesAfterResume(t *testing.T) {
	t.Parallel()
	server := StartRedis(t, RedisOptions{})
	server.Pause()
	result := make(chan error, 1)
	client := redisClient(t, server.URL)
	go func() { result <- client.Ping(t.Context()).Err() }()
	select {
	case err := <-result:
		t.Fatalf("a paused Redis replied: %v", err)
	case <-time.After(100 * time.Millisecond): // an absent reply has no event to wait for
	}
	server.Resume()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

// P7 is tested with a promoted replica. It must have all data and work without its former master.
func TestPromotedReplicaHasAllData(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	master, replica := StartRedis(t, RedisOptions{}), StartRedis(t, RedisOptions{})
	wire := NewProxy(t, master.URL)
	client := redisClient(t, wire.URL)
	if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	replica.Follow(master)
	master.Kill()
	replica.Promote()
	wire.Redirect(replica.URL)
	Eventually(t, 30*time.Second, func() (bool, string) { // connections from before the promotion were reset
		err := client.Set(ctx, "other", "v", 0).Err()
		return err == nil, fmt.Sprint("write to the promoted replica: ", err)
	})
	if got := client.Get(ctx, "k").Val(); got != "v" {
		t.Errorf("the replica has %q, want the value of its primary", got)
	}
}
