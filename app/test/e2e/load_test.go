package e2e

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"
)

// scenarioResult is the result of a scenario in the output of `stampede load --json`.
type scenarioResult struct {
	Scenario         string
	Ops              int64
	Reserved, Orders int
	Failures         []string
}

// TestEveryLoadScenarioPassesItsChecks is the short form of `just bench`. Each scenario runs briefly with a few
// shoppers, and its checks (P1, P2, P6) hold. Speed is not checked: if a scenario completes no op, the test repeats all
// of them for a longer time.
func TestEveryLoadScenarioPassesItsChecks(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h", "STAMPEDE_RETURN_WITHIN=0s")
	n := s.start()
	for duration := 500 * time.Millisecond; ; duration *= 4 {
		before := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'")
		results := s.runScenarios(n, duration)
		last := results[len(results)-1]
		if last.Reserved == 0 || last.Orders != last.Reserved {
			t.Errorf("got %d reservations and %d order events, want equal numbers above 0", last.Reserved, last.Orders)
		}
		rows := s.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'") - before
		if rows != int64(last.Reserved) {
			t.Errorf("got %d rows for %d reservations, want one per reservation", rows, last.Reserved)
		}
		idle := func(r scenarioResult) bool { return r.Ops == 0 && r.Scenario != "idle" }
		if !slices.ContainsFunc(results, idle) || t.Failed() {
			return
		}
		if duration >= 8*time.Second {
			t.Fatalf("a scenario completed no op within %v: %+v", duration, results)
		}
	}
}

// runScenarios runs all scenarios over the same sockets, each for a moment, and checks that none reports failures.
func (s *testShop) runScenarios(n *node, duration time.Duration) []scenarioResult {
	s.t.Helper()
	scenarios := []string{"idle", "time", "buy", "soldout", "burst", "chain", "fanout", "reconnect"}
	args := append([]string{"load"}, scenarios...)
	args = append(args, "--target", n.addr, "--pid", strconv.Itoa(n.Cmd.Process.Pid),
		"--sockets", "40", "--for", duration.String(), "--stalled", "0.05", "--hot", "2", "--json")
	out, code := s.run(args...)
	var results []scenarioResult
	if err := json.Unmarshal([]byte(out), &results); err != nil || code != 0 || len(results) != len(scenarios) {
		s.t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	for i, r := range results {
		if r.Scenario != scenarios[i] || len(r.Failures) > 0 {
			s.t.Errorf("got scenario result %+v, want %s without failures", r, scenarios[i])
		}
	}
	return results
}
