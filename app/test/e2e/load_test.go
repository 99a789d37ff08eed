package e2e

import (
	"encoding/json"
	"strconv"
	"testing"
)

// TestEveryLoadScenario is the short form of `just bench`: each scenario runs for a moment, with a few shoppers, and
// its checks (P1, P2, P6) hold. How fast it was, nobody asks here.
func TestEveryLoadScenario(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
	n := s.start()
	scenarios := []string{"idle", "time", "buy", "soldout", "burst", "chain", "fanout", "reconnect"}
	args := append([]string{"load"}, scenarios...)
	args = append(args, "--target", n.addr, "--pid", strconv.Itoa(n.cmd.Process.Pid),
		"--sockets", "40", "--for", "500ms", "--stalled", "0.05", "--hot", "2", "--json")
	out, code := s.run(args...)
	var results []struct {
		Scenario         string
		Ops              int64
		Reserved, Orders int
		Failures         []string
	}
	if err := json.Unmarshal([]byte(out), &results); err != nil || code != 0 || len(results) != len(scenarios) {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	for i, r := range results {
		if r.Scenario != scenarios[i] || len(r.Failures) > 0 || r.Ops == 0 && r.Scenario != "idle" {
			t.Errorf("%+v", r)
		}
	}
	last := results[len(results)-1]
	if last.Reserved == 0 || last.Orders != last.Reserved {
		t.Errorf("%d reserved, %d order events", last.Reserved, last.Orders)
	}
	if got := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'"); got != int64(last.Reserved) {
		t.Errorf("%d rows for %d reservations", got, last.Reserved)
	}
}
