package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// scenarioResult is what `stampede load --json` says of a scenario.
type scenarioResult struct {
	Scenario         string
	Ops              int64
	Reserved, Orders int
	Failures         []string
}

// TestEveryLoadScenario is the short form of `just bench`: each scenario runs for a moment, with a few shoppers, and
// its checks (P1, P2, P6) hold. How fast it was, nobody asks here: where a machine gets nothing done within the moment,
// it is given a longer one.
func TestEveryLoadScenario(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
	n := s.start()
	for moment := 500 * time.Millisecond; ; moment *= 4 {
		before := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'")
		results := s.everyScenario(n, moment)
		last := results[len(results)-1]
		if last.Reserved == 0 || last.Orders != last.Reserved {
			t.Errorf("%d reserved, %d order events", last.Reserved, last.Orders)
		}
		rows := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'") - before
		if rows != int64(last.Reserved) {
			t.Errorf("%d rows for %d reservations", rows, last.Reserved)
		}
		idle := func(r scenarioResult) bool { return r.Ops == 0 && r.Scenario != "idle" }
		if !slices.ContainsFunc(results, idle) || t.Failed() {
			return
		}
		if moment >= 8*time.Second {
			t.Fatalf("nothing was done within %v: %+v", moment, results)
		}
	}
}

// everyScenario runs all scenarios over the same sockets, each for a moment, and looks at the checks that each has
// made.
func (s *shop) everyScenario(n *node, moment time.Duration) []scenarioResult {
	s.t.Helper()
	scenarios := []string{"idle", "time", "buy", "soldout", "burst", "chain", "fanout", "reconnect"}
	args := append([]string{"load"}, scenarios...)
	args = append(args, "--target", n.addr, "--pid", strconv.Itoa(n.cmd.Process.Pid),
		"--sockets", "40", "--for", moment.String(), "--stalled", "0.05", "--hot", "2", "--json")
	out, code := s.run(args...)
	var results []scenarioResult
	if err := json.Unmarshal([]byte(out), &results); err != nil || code != 0 || len(results) != len(scenarios) {
		s.t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	for i, r := range results {
		if r.Scenario != scenarios[i] || len(r.Failures) > 0 {
			s.t.Errorf("%+v", r)
		}
	}
	return results
}

// TestTwoLoadProcessesAreOneCrowd: two processes press at the same instant, each on sales and with shoppers of its own.
// `load merge` makes one report of both, whose reservations are the rows in the database (P1, P2).
func TestTwoLoadProcessesAreOneCrowd(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
	n, dir := s.start(), t.TempDir()
	at := strconv.FormatInt(time.Now().Add(20*time.Second).Unix(), 10) // 40 sockets are open long before
	files := []string{filepath.Join(dir, "1.json"), filepath.Join(dir, "2.json")}
	var g sync.WaitGroup
	for i, file := range files {
		g.Go(func() {
			out, code := s.run("load", "chain", "--target", n.addr, "--sockets", "20", "--for", "2s", "--hot", "2",
				"--pid", strconv.Itoa(n.cmd.Process.Pid), "--shard", fmt.Sprintf("%d/2", i+1), "--at", at,
				"--out", file)
			if code != 0 {
				t.Errorf("process %d: exit code %d:\n%s", i+1, code, out)
			}
		})
	}
	g.Wait()
	out, code := s.run("load", "merge", files[0], files[1], "--json")
	var results []struct {
		Scenario                  string
		Sockets, Reserved, Orders int
		Ops                       int64
		Order                     struct {
			P99 float64 `json:"p99_ms"`
		}
		Figures map[string]float64
	}
	if err := json.Unmarshal([]byte(out), &results); err != nil || code != 0 || len(results) != 1 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	r := results[0]
	if r.Scenario != "chain" || r.Sockets != 40 || r.Ops == 0 || r.Orders != r.Reserved || r.Order.P99 <= 0 ||
		r.Figures["server_cpu_us_per_op"] <= 0 {
		t.Errorf("%+v", r)
	}
	if rows := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'"); rows != int64(r.Reserved) {
		t.Errorf("%d rows for %d reservations", rows, r.Reserved)
	}
	if buyers := s.count("SELECT COUNT(DISTINCT user_id) FROM orders"); buyers != 40 {
		t.Errorf("%d buyers, want 40 of two processes", buyers)
	}
	if out, code := s.run("load", "merge", files[0]); code != 1 {
		t.Errorf("one file of two: exit code %d:\n%s", code, out)
	}
}
