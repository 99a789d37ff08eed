package e2e

import (
	"encoding/json"
	"testing"

	"stampede/app"
)

// attack is a row of what `stampede load attack --json` prints.
type attack struct {
	Attacker, Defence                     string
	Units, Theirs, Honest, Shoppers, Sent int
	Share, Work                           float64
	Refused                               map[app.Code]int
	Failures                              []string
}

// TestAttacksGetLittle is the short form of `stampede load attack`: 200 honest shoppers want the 200 units of a sale.
// Who replays, floods or prepares requests gets less than 1 % of them where the sale asks for a pass, and honest
// shoppers get the rest. Who does the work gets what others get for the same work, and no more.
func TestAttacksGetLittle(t *testing.T) {
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
	if out, code := s.run("challenge", "--bits", "10"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	n := startShipped(t, s.settings...)
	rows := s.attacked(n, "--attack-by", "replay,flood,prepared,solver", "--attack-defences", "pass,work",
		"--attack-accounts", "200", "--attack-lead", "6s", "--attack-after", "30s")
	if len(rows) != 7 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, r := range rows {
		t.Logf("%s against %s: %d of %d units, %.2f %%, work %.2f %%; %d of %d honest; refused %v",
			r.Attacker, r.Defence, r.Theirs, r.Units, 100*r.Share, 100*r.Work, r.Honest, r.Shoppers, r.Refused)
		for _, failure := range r.Failures {
			t.Errorf("%s against %s: %s", r.Attacker, r.Defence, failure)
		}
		switch {
		case r.Sent == 0:
			t.Errorf("%s against %s: nothing was sent", r.Attacker, r.Defence)
		case r.Theirs+r.Honest > r.Units:
			t.Errorf("P1: %s against %s: %d and %d of %d units", r.Attacker, r.Defence, r.Theirs, r.Honest, r.Units)
		case r.Attacker == "solver":
			if r.Honest != r.Shoppers {
				t.Errorf("against %s %d of %d honest shoppers have one", r.Defence, r.Honest, r.Shoppers)
			}
			if r.Work == 0 || r.Share > r.Work {
				t.Errorf("the solver has %.2f %% of the units for %.2f %% of the work", 100*r.Share, 100*r.Work)
			}
		default:
			if r.Share >= 0.01 {
				t.Errorf("%s against %s: %.2f %% of the units", r.Attacker, r.Defence, 100*r.Share)
			}
			if r.Honest < r.Shoppers-r.Theirs {
				t.Errorf("%s against %s: %d of %d honest shoppers bought", r.Attacker, r.Defence, r.Honest, r.Shoppers)
			}
		}
	}
}

// Who reserves and lets it expire, again and again, holds units up, for as long as the cap on reservations lets them,
// and keeps nobody from buying in the end.
func TestHoarderKeepsNobodyOut(t *testing.T) {
	s := newShop(t, "STAMPEDE_PAY_WINDOW=2s")
	n := startShipped(t, s.settings...)
	rows := s.attacked(n, "--attack-by", "hoarder", "--attack-defences", "pass", "--attack-lead", "4s",
		"--attack-after", "60s")
	if len(rows) != 1 || len(rows[0].Failures) > 0 {
		t.Fatalf("%+v", rows)
	}
	r := rows[0]
	t.Logf("%d reservations of the hoarder, %d of %d honest; refused %v", r.Theirs, r.Honest, r.Shoppers, r.Refused)
	if r.Theirs == 0 || r.Theirs > 150 {
		t.Errorf("the hoarder has reserved %d times; fifty accounts may three times each", r.Theirs)
	}
	if r.Honest != r.Shoppers {
		t.Errorf("%d of %d honest shoppers have one", r.Honest, r.Shoppers)
	}
}

// attacked runs attackers against a node.
func (s *shop) attacked(n *node, args ...string) (rows []attack) {
	s.t.Helper()
	out, code := s.run(append([]string{"load", "attack", "--target", n.addr, "--json"}, args...)...)
	if i := bytesOfList(out); code != 0 || json.Unmarshal([]byte(out[i:]), &rows) != nil {
		s.t.Fatalf("exit code %d:\n%s", code, out)
	}
	return rows
}

// bytesOfList is where the JSON begins, behind what was said on the way.
func bytesOfList(out string) int {
	for i := range len(out) {
		if out[i] == '[' {
			return i
		}
	}
	return 0
}
