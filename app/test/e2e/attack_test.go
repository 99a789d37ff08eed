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
	Pictures                              int
	Share, Work                           float64
	Refused                               map[app.Code]int
	Failures                              []string
}

// TestAttacksGetLittle is the short form of `stampede load attack`: 200 honest shoppers want the 200 units of a sale.
// Who replays or prepares requests gets less than 1 % of them where the sale asks for a pass, and honest shoppers get
// the rest. Who does the work gets what others get for the same work, and no more.
func TestAttacksGetLittle(t *testing.T) {
	t.Parallel()
	for attacker, rows := range map[string]int{"replay": 2, "prepared": 2, "solver": 1} {
		t.Run(attacker, func(t *testing.T) {
			t.Parallel()
			getsLittle(t, attacker, rows)
		})
	}
}

// The same of a flood, which is one on a machine that does nothing else.
func TestFloodGetsLittle(t *testing.T) { getsLittle(t, "flood", 2) }

// getsLittle lets an attacker fight against passes and work, as far as the one or the other is its own.
func getsLittle(t *testing.T, attacker string, fights int) {
	t.Helper()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
	if out, code := s.run("challenge", "--bits", "10"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	n := startShipped(t, s.settings...)
	rows := s.attacked(n, "--attack-by", attacker, "--attack-defences", "pass,work",
		"--attack-accounts", "200", "--attack-lead", "4s", "--attack-after", "30s")
	if len(rows) != fights {
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

// Where a picture is asked for, a farm that cannot read them gets nothing, however many accounts and addresses it has;
// who pays for it gets no more than was read, and honest shoppers get the rest.
func TestPicturesAreAsManyAsWereRead(t *testing.T) {
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
	n := startShipped(t, s.settings...)
	rows := s.attacked(n, "--attack-by", "fifty-addresses,paid-reader", "--attack-defences", "captcha",
		"--attack-honest", "50", "--attack-accounts", "50", "--attack-units", "50", // nobody waits for the drawing
		"--attack-pictures", "5", "--attack-lead", "8s", "--attack-after", "1m")
	if len(rows) != 2 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, r := range rows {
		t.Logf("%s: %d of %d units for %d pictures; %d of %d honest; refused %v",
			r.Attacker, r.Theirs, r.Units, r.Pictures, r.Honest, r.Shoppers, r.Refused)
		for _, failure := range r.Failures {
			t.Errorf("%s: %s", r.Attacker, failure)
		}
		if r.Theirs > r.Pictures || r.Theirs+r.Honest > r.Units || r.Honest < r.Shoppers-r.Theirs {
			t.Errorf("%s: %d units for %d pictures, %d of %d honest",
				r.Attacker, r.Theirs, r.Pictures, r.Honest, r.Shoppers)
		}
		if paid := r.Attacker == "paid-reader"; paid != (r.Theirs > 0) || paid != (r.Pictures > 0) {
			t.Errorf("%s: %d units for %d pictures", r.Attacker, r.Theirs, r.Pictures)
		}
	}
}

// Under the preset `strict` a farm behind one address and a flood are held by what an address and a user may do, though
// the sale asks for nothing.
func TestAttacksUnderStrictLimits(t *testing.T) {
	s := newShop(t, "STAMPEDE_LIMITS=strict", "STAMPEDE_PAY_WINDOW=1h")
	n := startShipped(t, s.settings...)
	rows := s.attacked(n, "--attack-by", "flood,one-address", "--attack-defences", "none", "--attack-accounts", "200",
		"--attack-lead", "8s", "--attack-after", "30s")
	if len(rows) != 2 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, r := range rows {
		t.Logf("%s: %d of %d units; %d of %d honest; refused %v",
			r.Attacker, r.Theirs, r.Units, r.Honest, r.Shoppers, r.Refused)
		for _, failure := range r.Failures {
			t.Errorf("%s: %s", r.Attacker, failure)
		}
		if r.Share > 0.2 || r.Honest < r.Shoppers-r.Theirs {
			t.Errorf("%s: %.2f %% of the units, %d of %d honest", r.Attacker, 100*r.Share, r.Honest, r.Shoppers)
		}
	}
}

// Who reserves and lets it expire, again and again, holds units up, for as long as the cap on reservations lets them,
// and keeps nobody from buying in the end.
func TestHoarderKeepsNobodyOut(t *testing.T) {
	t.Parallel()
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
