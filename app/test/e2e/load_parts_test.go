package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestTwoLoadProcessesAreOneCrowd lets two processes press at the same moment, each on sales of its own and with
// shoppers of its own, and merges what they wrote: one report of all shoppers, whose reservations are the rows that
// there are (P1, P2).
func TestTwoLoadProcessesAreOneCrowd(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
	n := s.start()
	dir := t.TempDir()
	at := strconv.FormatInt(time.Now().Add(8*time.Second).Unix(), 10)
	var files []string
	var g sync.WaitGroup
	for i := range 2 {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", i+1))
		files = append(files, file)
		g.Go(func() {
			out, code := s.run("load", "chain", "--target", n.addr, "--sockets", "20", "--for", "500ms", "--hot", "2",
				"--pid", strconv.Itoa(n.cmd.Process.Pid), "--shard", fmt.Sprintf("%d/2", i+1), "--at", at, "--out", file)
			if code != 0 {
				t.Errorf("process %d: exit code %d:\n%s", i+1, code, out)
			}
		})
	}
	g.Wait()
	if t.Failed() {
		return
	}
	out, code := s.run("load", "merge", files[0], files[1], "--json")
	var results []struct {
		Scenario          string
		Sockets, Reserved int
		Orders            int
		Ops               int64
		Order             struct {
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
