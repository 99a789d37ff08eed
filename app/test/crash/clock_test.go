//go:build crashpoints

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/snowflake"
	"stampede/app/test/kit"
)

// I10: the wall clocks of two nodes are five minutes fast and five minutes slow, in the program and its libraries. No
// result depends on a node's clock: access of guests, opening and closing of a sale, the time to pay, expiry, leases of
// node numbers, ids.
func TestWrongNodeClocksChangeNoResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "STAMPEDE_GUEST_LOGIN=true")
	w.program = programWithAdjustableClock(t)
	w.setUpCrowd()
	opensSoon := w.addSale(100, 10, w.rng.IntN(partitions), 4*time.Minute, time.Hour)
	closesSoon := w.addSale(1000, 100, w.rng.IntN(partitions), -time.Second, 4*time.Minute)
	w.sales = append(w.sales, closesSoon)
	closed := w.addSale(100, 10, w.rng.IntN(partitions), -time.Hour, -4*time.Minute)
	fast, slow := w.start("CLOCK_AHEAD=300"), w.start("CLOCK_AHEAD=-300")
	w.requireClockOffset(fast, 5*time.Minute)
	w.requireClockOffset(slow, -5*time.Minute)

	begin := w.redisTime()
	for i, b := range w.buyers {
		w.must(b.connect([]*node{fast, slow}[i%2].addr))
	}
	for _, b := range w.buyers[:2] { // one on each node
		for sale, want := range map[*shop.Sale]shop.Code{&opensSoon: shop.NotOpen, &closed: shop.Closed} {
			if op := b.attempt(sale); op.Code != want {
				t.Errorf("a buy of sale %s got %q (order %s), want %s", sale.ID, op.Code, op.Order, want)
			}
		}
		if op := b.attempt(&closesSoon); op.Outcome != OK {
			t.Errorf("a buy of an open sale got %q, want an order", op.Code)
		}
	}
	w.requireGuestAccepted(fast, slow)
	w.requireGuestAccepted(slow, fast)
	w.trade(behaviour{cancelPercent: 10, attempts: 15}).wait()
	w.reconnectAll(slow)
	w.awaitRest(slow, "")
	w.requireValidTimes(begin, w.redisTime())
}

// programWithAdjustableClock builds the program with a modified standard library: its wall clock is ahead by
// CLOCK_AHEAD seconds. The monotonic clock is correct.
func programWithAdjustableClock(t *testing.T) string {
	t.Helper()
	program, err := buildWithAdjustableClock()
	if err != nil {
		t.Fatalf("build a program with an adjustable clock: %v", err)
	}
	return program
}

var buildWithAdjustableClock = sync.OnceValues(func() (string, error) {
	const clockSource = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	folder, err := filepath.Abs(filepath.Join(*keepFlag, "clock"))
	if err != nil {
		return "", err
	}
	goroot := filepath.Join(folder, "go")
	library := filepath.Join(goroot, "src", "time")
	if err := errors.Join(os.RemoveAll(folder), linkGoTree(goroot)); err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err
	}
	changed := strings.Replace(string(source), clockSource, clockSource+"\tsec += ahead\n", 1)
	if changed == string(source) {
		return "", fmt.Errorf("%s/time.go reads the clock in a way that this test does not support: update the replaced lines", library)
	}
	for name, text := range map[string]string{
		"time.go": changed,
		"ahead.go": "package time\n\nimport \"syscall\"\n\n" +
			"var ahead = func() int64 { s, _ := syscall.Getenv(\"CLOCK_AHEAD\"); n, _ := atoi(s); return int64(n) }()\n",
	} {
		if err := os.WriteFile(filepath.Join(library, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	program := filepath.Join(folder, "stampede")
	return program, kit.Build(program, []string{"GOROOT=" + goroot, "GOTOOLCHAIN=local"}, "-tags", "crashpoints")
})

// linkGoTree creates a Go tree of symbolic links with its own copy of package time. (The compiler rejects overlays over
// a downloaded toolchain.)
func linkGoTree(goroot string) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	from := strings.TrimSpace(string(out))
	for _, folder := range []string{"", "src"} {
		if err := os.MkdirAll(filepath.Join(goroot, folder), 0o755); err != nil {
			return err
		}
		entries, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if path := filepath.Join(folder, e.Name()); path != "src" && path != filepath.Join("src", "time") {
				if err := os.Symlink(filepath.Join(from, path), filepath.Join(goroot, path)); err != nil {
					return err
				}
			}
		}
	}
	return os.CopyFS(filepath.Join(goroot, "src", "time"), os.DirFS(filepath.Join(from, "src", "time")))
}

// requireClockOffset requires that the node's log shows the wrong clock: otherwise the test would prove nothing.
func (w *world) requireClockOffset(n *node, offset time.Duration) {
	w.t.Helper()
	text := n.Text()
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(line, "time=")
		timestamp, _, _ := strings.Cut(rest, " ")
		at, err := time.Parse(time.RFC3339, timestamp)
		if off := time.Since(at) + offset; err == nil && off > -time.Minute && off < time.Minute {
			return
		}
	}
	w.t.Fatalf("the log does not show a clock that is off by %v:\n%s", offset, text)
}

func (w *world) redisTime() shop.Millis {
	w.t.Helper()
	now, err := w.redis.Time(kit.Context(w.t)).Result()
	w.must(err)
	return shop.MillisOf(now)
}

// requireGuestAccepted requires that the other node immediately accepts a guest of host.
func (w *world) requireGuestAccepted(host, other *node) {
	w.t.Helper()
	ctx := kit.Context(w.t)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host.addr+"/api/v1/auth/guest", nil)
	w.must(err)
	resp, err := kit.HTTP.Do(req)
	w.must(err)
	defer func() { _ = resp.Body.Close() }()
	var guest struct{ Access string }
	w.must(json.NewDecoder(resp.Body).Decode(&guest))
	p := &phone{buyer: &buyer{world: w, token: guest.Access}}
	w.t.Cleanup(p.close)
	if err := p.connect(other.addr); err != nil {
		w.t.Errorf("a guest of %s at %s: %v", host.addr, other.addr, err)
	}
}

// requireValidTimes requires that all recorded times lie between the two instants of Redis and match their deadlines.
func (w *world) requireValidTimes(begin, end shop.Millis) {
	w.t.Helper()
	const payWindow = 2 * time.Second
	within := func(label string, id shop.ID, at, first, last shop.Millis) {
		if at < first || at > last {
			w.t.Errorf("%s of %s is %d: %v before the first valid instant, %v after the last", label, id, at,
				first.Sub(at), at.Sub(last))
		}
	}
	nodes := make(map[int]bool)
	for i := range w.final.Rows {
		r := &w.final.Rows[i]
		nodes[snowflake.Node(r.ID)] = true
		// ids start with the database's clock
		within("the id", r.ID, snowflake.Time(r.ID), begin.Add(-time.Second), end)
		switch r.State {
		case shop.Expired:
			within("the deadline", r.ID, r.PayBy, begin.Add(payWindow), end)
			within("the end", r.ID, r.Ended, r.PayBy, end)
		case shop.Cancelled:
			within("the end", r.ID, r.Ended, begin, end)
		}
	}
	if len(nodes) != 2 {
		w.t.Errorf("the ids have the node numbers %v, want two", nodes)
	}
	now := w.count("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)")
	leases, valid := w.count("SELECT COUNT(*) FROM node_leases"),
		w.count("SELECT COUNT(*) FROM node_leases WHERE expires_at BETWEEN ? AND ?", now,
			now+(10*time.Minute).Milliseconds())
	if leases != 2 || valid != 2 {
		w.t.Errorf("%d node numbers are leased, %d of them for at most the next ten minutes; want 2 and 2", leases, valid)
	}
}
