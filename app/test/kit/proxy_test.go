package kit

import (
	"context"
	"testing"
	"time"
)

// I6: tests of "unknown is not failed" need an executed request whose reply is lost.
func TestProxyLosesTheReplyButNotTheRequest(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	base := Redis(t)
	proxy := NewProxy(t, base)
	client := redisClient(t, proxy.URL)

	proxy.DropReplies("INCR", 1)
	if err := client.Incr(ctx, "n").Err(); err == nil {
		t.Fatal("the lost reply was received")
	}
	if got := client.Incr(ctx, "n").Val(); got != 2 {
		t.Fatalf("n = %d after a lost reply and a repeat, want 2", got)
	}
	if proxy.Dropped() != 1 {
		t.Fatalf("Dropped() = %d, want 1", proxy.Dropped())
	}
}

func TestProxyLosesTheReplyToACommit(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	proxy := NewProxy(t, MySQL(t))
	db := openMySQL(t, proxy.URL)
	if _, err := db.ExecContext(ctx, "CREATE TABLE x (n INT)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO x VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	proxy.DropReplies("commit", 1)
	if err := tx.Commit(); err == nil {
		t.Fatal("the lost reply to COMMIT was received")
	}
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM x").Scan(&n); err != nil || n != 1 {
		t.Fatalf("rows = %d, %v; want the committed one", n, err)
	}
}

func TestProxyCutsStallsDelaysAndRestores(t *testing.T) {
	t.Parallel()
	ctx := Context(t)
	proxy := NewProxy(t, Redis(t))
	client := redisClient(t, proxy.URL)
	ping := func(timeout time.Duration) error {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return client.Ping(limited).Err()
	}
	if err := ping(time.Minute); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	if err := ping(time.Minute); err == nil {
		t.Error("received a reply over a cut connection")
	}
	proxy.Restore()
	Eventually(t, time.Minute, func() (bool, string) {
		err := ping(time.Minute)
		return err == nil, "received no reply over the restored connection"
	})
	proxy.Stall()
	if err := ping(50 * time.Millisecond); err == nil {
		t.Error("received a reply over a stalled connection")
	}
	proxy.Restore()
	proxy.Delay(20 * time.Millisecond)
	began := time.Now()
	if err := ping(time.Minute); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 40*time.Millisecond {
		t.Errorf("a round trip took %v, want at least 40 ms", took)
	}
}
