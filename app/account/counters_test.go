package account

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/test/kit"
)

// TestCounterExpiresAfterFirstIncrement: a counter expires a fixed time after its first increment. A counter without a
// TTL, left by a crash, gets one at the next increment. Otherwise a captcha would be required forever.
func TestCounterExpiresAfterFirstIncrement(t *testing.T) {
	t.Parallel()
	embedded := miniredis.RunT(t)
	real, err := redis.ParseURL(kit.Redis(t))
	kit.Must(t, err)
	for name, options := range map[string]*redis.Options{"real": real, "embedded": {Addr: embedded.Addr()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, client := kit.Context(t), redis.NewClient(options)
			t.Cleanup(func() { _ = client.Close() })
			counters := NewCounters(client)
			first, withoutTTL := t.Name()+":first", t.Name()+":without TTL"
			kit.Must(t, client.Set(ctx, countPrefix+withoutTTL, 6, 0).Err())
			if n := counters.increment(ctx, time.Hour, first, withoutTTL); n[0] != 1 || n[1] != 7 {
				t.Errorf("got the counts %v, want 1 and 7", n)
			}
			if n := counters.increment(ctx, 2*time.Hour, first); n[0] != 2 {
				t.Errorf("got the count %v, want 2", n)
			}
			for _, key := range []string{first, withoutTTL} {
				if left := client.TTL(ctx, countPrefix+key).Val(); left <= 0 || left > time.Hour {
					t.Errorf("%s expires in %v, want within an hour", key, left)
				}
			}
		})
	}
}

// TestCountersWorkWhileRedisRejectsWrites: while Redis serves reads and rejects writes, this node counts in memory.
// After Redis accepts writes again, reads still add the counts in memory to the counts in Redis.
func TestCountersWorkWhileRedisRejectsWrites(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(kit.StartRedis(t, kit.RedisOptions{}).URL)
	kit.Must(t, err)
	ctx, client := kit.Context(t), redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	counters := NewCounters(client)
	counters.increment(ctx, time.Hour, "a")
	kit.Must(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	counters.increment(ctx, time.Hour, "a")
	for _, memory := range []string{"1", "0"} {
		kit.Must(t, client.ConfigSet(ctx, "maxmemory", memory).Err())
		if n := counters.read(ctx, "a", "b"); n[0] != 2 || n[1] != 0 {
			t.Errorf("got the counts %v, want 2 and 0", n)
		}
	}
}
