package limits

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// openRedis returns a connected client with long timeouts: on a busy machine a reply may take longer than countTimeout,
// and the node would count alone.
func openRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.ReadTimeout, o.WriteTimeout = -1, time.Minute, time.Minute
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	_ = client.Ping(t.Context()).Err() // connect now: a later dial has only countTimeout
	return client
}

// onBoth runs a test with the real Redis and with the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) { test(t, openRedis(t, kit.Redis(t))) })
	t.Run("embedded", func(t *testing.T) { test(t, openRedis(t, "redis://"+miniredis.RunT(t).Addr())) })
}

// newAddr returns an address that no other test uses.
func newAddr() netip.Addr {
	id := uint64(kit.NewID())
	return netip.AddrFrom4([4]byte{10, byte(id >> 16), byte(id >> 8), byte(id)})
}

func wantRateLimited(t *testing.T, err error) time.Duration {
	t.Helper()
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != shop.RateLimited || e.RetryMS < 1 {
		t.Fatalf("got %v, want rate_limited with retry_ms", err)
	}
	return time.Duration(e.RetryMS) * time.Millisecond
}

// All nodes share one window per address and per user. Another address has its own window. After the returned wait, one
// more request is accepted.
func TestWindowsAreShared(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, client *redis.Client) {
		ctx := kit.Context(t)
		const length = time.Minute
		a, b := NewWindows(client, length), NewWindows(client, length)
		limit := Window{User: 3, Addr: 10}
		addr, user := newAddr(), kit.NewID()
		for i := range 3 {
			if err := []*Windows{a, b}[i%2].Take(ctx, List, limit, user, addr); err != nil {
				t.Fatalf("request %d: got %v, want no error", i+1, err)
			}
		}
		for _, w := range []*Windows{a, b, a, b} {
			if wait := wantRateLimited(t, w.Take(ctx, List, limit, user, addr)); wait > 2*length {
				t.Errorf("fourth request of a user: got wait %v, want at most %v", wait, 2*length)
			}
		}
		for i := range 7 { // rejected requests did not count for the address
			if err := a.Take(ctx, List, limit, kit.NewID(), addr); err != nil {
				t.Fatalf("user %d at the same address: got %v, want no error", i+2, err)
			}
		}
		other := kit.NewID()
		wantRateLimited(t, b.Take(ctx, List, limit, other, addr))
		for i := range 3 { // requests that the address rejected did not count for the user
			if err := a.Take(ctx, List, limit, other, newAddr()); err != nil {
				t.Errorf("request %d of the same user from another address: got %v, want no error", i+1, err)
			}
		}
		if a.CountedLocally()+b.CountedLocally() > 0 {
			t.Error("a request was counted without Redis")
		}
	})
}

// The networks of one IPv6 site together have shop.WideFactor times the limit of an address.
func TestWindowsCountSitesOfIPv6(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	w, limit := NewWindows(openRedis(t, "redis://"+miniredis.RunT(t).Addr()), time.Hour), Window{Addr: 2}
	for i := range byte(2 * shop.WideFactor) {
		if err := w.Take(ctx, List, limit, 0, netip.AddrFrom16([16]byte{0xfd, 7: i})); err != nil {
			t.Fatalf("network %d: got %v, want no error", i+1, err)
		}
	}
	wantRateLimited(t, w.Take(ctx, List, limit, 0, netip.AddrFrom16([16]byte{0xfd, 7: 255})))
	if err := w.Take(ctx, List, limit, 0, netip.AddrFrom16([16]byte{0xfd, 5: 1})); err != nil {
		t.Errorf("another site: got %v, want no error", err)
	}
}

// A window slides: a rejected request is accepted after the returned wait, even if the client continued to send
// requests.
func TestWindowSlides(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, client *redis.Client) {
		ctx := kit.Context(t)
		w, limit, addr := NewWindows(client, 200*time.Millisecond), Window{Addr: 4}, newAddr()
		began, admitted := time.Now(), 0
		kit.Eventually(t, time.Minute, func() (bool, string) {
			if w.Take(ctx, List, limit, 0, addr) == nil {
				admitted++
			}
			return admitted == 24, "an address that continues to send requests is no longer accepted"
		})
		// 4 at once, and 20 more at 4 per 200 ms; a sliding window with two counters accepts at most one more burst.
		if took := time.Since(began); took < 800*time.Millisecond-countTimeout {
			t.Errorf("24 requests were accepted within %v, want about 1 s", took)
		}
	})
}

// While Redis is unavailable, each node counts its share alone and tries Redis at most once a second. When Redis is
// available again, the node counts there.
func TestWindowsWithoutRedis(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	server := miniredis.RunT(t)
	w := NewWindows(openRedis(t, "redis://"+server.Addr()), time.Minute)
	w.SetNodes(2)
	limit, addr := Window{Addr: 8}, newAddr()
	server.Close()
	for i := range 4 {
		if err := w.Take(ctx, List, limit, 0, addr); err != nil {
			t.Fatalf("request %d without Redis: got %v, want no error", i+1, err)
		}
	}
	wantRateLimited(t, w.Take(ctx, List, limit, 0, addr))
	if w.CountedLocally() != 5 {
		t.Errorf("got %d requests counted alone, want 5", w.CountedLocally())
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, func() (bool, string) {
		before := w.CountedLocally()
		return w.Take(ctx, List, limit, 0, addr) == nil && w.CountedLocally() == before, "the node still counts without Redis"
	})
}

// A request rejected by a window costs Redis nothing until the next one is accepted.
func TestRejectedRequestsSendNoCommand(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	server := miniredis.RunT(t)
	w := NewWindows(openRedis(t, "redis://"+server.Addr()), time.Hour)
	limit, addr := Window{Addr: 2}, newAddr()
	for range 2 {
		if err := w.Take(ctx, List, limit, 0, addr); err != nil {
			t.Fatal(err)
		}
	}
	wantRateLimited(t, w.Take(ctx, List, limit, 0, addr))
	before := server.CommandCount()
	for range 1000 {
		wantRateLimited(t, w.Take(ctx, List, limit, 0, addr))
	}
	if n := server.CommandCount() - before; n > 0 {
		t.Errorf("1000 rejected requests cost %d commands, want none", n)
	}
}

// A class without limits counts no request.
func TestZeroWindowCountsNoRequest(t *testing.T) {
	t.Parallel()
	w := NewWindows(openRedis(t, "redis://127.0.0.1:1"), time.Second)
	if err := w.Take(context.Background(), List, Window{}, 7, newAddr()); err != nil || w.CountedLocally() != 0 {
		t.Errorf("got error %v and %d requests counted without Redis, want neither", err, w.CountedLocally())
	}
}
