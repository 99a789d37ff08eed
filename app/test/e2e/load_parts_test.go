package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTwoLoadProcessesAreOneCrowd lets two processes press at the same moment, each on sales of its own and with
// shoppers of its own, and merges what they wrote: one report of all shoppers, whose reservations are the rows that
// there are (P1, P2).
func TestTwoLoadProcessesAreOneCrowd(t *testing.T) {
	t.Parallel()
	s, files := pressTogether(t)
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

// pressTogether lets two processes run the chain from the same instant on, and answers the shop and what they wrote.
// When it begins, both crowds have to be there: a machine that needs longer for that is given longer, as the program
// asks for, and another shop, because one of the two may have been there.
func pressTogether(t *testing.T) (s *shop, files [2]string) {
	t.Helper()
	for ready := 8 * time.Second; ; ready *= 3 {
		s = newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
		n, dir := s.start(), t.TempDir()
		at := strconv.FormatInt(time.Now().Add(ready).Unix(), 10)
		var said [2]string
		var g sync.WaitGroup
		for i := range files {
			files[i] = filepath.Join(dir, fmt.Sprintf("%d.json", i+1))
			g.Go(func() {
				out, code := s.run("load", "chain", "--target", n.addr, "--sockets", "20", "--for", "2s", "--hot", "2",
					"--pid", strconv.Itoa(n.cmd.Process.Pid),
					"--shard", fmt.Sprintf("%d/2", i+1), "--at", at, "--out", files[i])
				if code != 0 {
					said[i] = fmt.Sprintf("process %d: exit code %d:\n%s", i+1, code, out)
				}
			})
		}
		g.Wait()
		switch {
		case said == [2]string{}:
			return s, files
		case !strings.Contains(said[0]+said[1], "give it more time (--at)") || ready > time.Minute:
			t.Fatal(said)
		}
	}
}
