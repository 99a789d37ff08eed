package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"stampede/app"
)

// attack is a row of the output of `stampede load attack --json`.
type attack struct {
	Attacker, Defence                     string
	Units, Theirs, Honest, Shoppers, Sent int
	Pictures                              int
	Share, Work                           float64
	Refused                               map[app.Code]int
	Failures                              []string
}

// check logs a row and checks the rules of all attacks: something was sent, no unit was sold twice (P1), and honest
// shoppers have the units that the attacker does not have.
func (r *attack) check(t *testing.T) {
	t.Helper()
	t.Logf("%s against %s: %d requests, %d of %d units, %.2f %%, work %.2f %%, %d pictures; %d of %d honest; "+
		"refused %v", r.Attacker, r.Defence, r.Sent, r.Theirs, r.Units, 100*r.Share, 100*r.Work, r.Pictures, r.Honest,
		r.Shoppers, r.Refused)
	for _, failure := range r.Failures {
		t.Errorf("%s against %s: %s", r.Attacker, r.Defence, failure)
	}
	if r.Sent == 0 || r.Theirs+r.Honest > r.Units || r.Honest < r.Shoppers-r.Theirs {
		t.Errorf("%s against %s: %d requests, %d of %d units, %d of %d honest shoppers",
			r.Attacker, r.Defence, r.Sent, r.Theirs, r.Units, r.Honest, r.Shoppers)
	}
}

// TestAttacksGetLittle is the short form of `stampede load attack`: 200 honest shoppers want the 200 units of a sale.
// Attackers who replay or prepare requests or flood the shop get less than 1 % of the units where the sale requires a
// pass or work. An attacker who does the work gets the share of its work at most.
func TestAttacksGetLittle(t *testing.T) {
	t.Parallel()
	for attacker, fights := range map[string]int{"replay": 2, "prepared": 2, "flood": 2, "solver": 1} {
		t.Run(attacker, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
			if out, code := s.run("challenge", "--bits", "10"); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			rows := s.attacked(fights, attacker, "pass,work", "--attack-accounts", "200", "--attack-lead", "4s")
			for _, r := range rows {
				r.check(t)
				switch {
				case attacker != "solver":
					if r.Share >= 0.01 {
						t.Errorf("%s against %s: %.2f %% of the units", attacker, r.Defence, 100*r.Share)
					}
				case r.Honest != r.Shoppers || r.Work == 0 || r.Share > r.Work:
					t.Errorf("the solver has %.2f %% of the units for %.2f %% of the work, %d of %d honest",
						100*r.Share, 100*r.Work, r.Honest, r.Shoppers)
				}
			}
		})
	}
}

// Where the sale requires a captcha, a farm that cannot read pictures gets nothing, with any number of accounts and
// addresses. An attacker who pays for reading gets one unit per picture at most.
func TestPicturesAreAsManyAsWereRead(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
	for _, r := range s.attacked(2, "fifty-addresses,paid-reader", "captcha",
		"--attack-honest", "50", "--attack-accounts", "50", "--attack-units", "50", // so few pictures are drawn in time
		"--attack-pictures", "5", "--attack-lead", "15s") {
		r.check(t)
		paid := r.Attacker == "paid-reader"
		if r.Theirs > r.Pictures || paid != (r.Theirs > 0) || paid != (r.Pictures > 0) {
			t.Errorf("%s: %d units for %d pictures", r.Attacker, r.Theirs, r.Pictures)
		}
	}
}

// The preset `strict` limits a farm behind one address and a flood by address and user, although the sale requires
// nothing. Not t.Parallel: the farm gets more time where honest shoppers are slow.
func TestAttacksUnderStrictLimits(t *testing.T) {
	s := newShop(t, "STAMPEDE_LIMITS=strict", "STAMPEDE_PAY_WINDOW=1h")
	for _, r := range s.attacked(2, "flood,one-address", "none", "--attack-accounts", "200", "--attack-lead", "4s") {
		r.check(t)
		if r.Share > 0.2 {
			t.Errorf("%s: %.2f %% of the units", r.Attacker, 100*r.Share)
		}
	}
}

// An attacker who reserves units and lets them expire, again and again, is limited by the cap on reservations, and all
// honest shoppers buy in the end.
func TestHoarderKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=2s")
	r := s.attacked(1, "hoarder", "pass", "--attack-lead", "4s")[0]
	t.Logf("%d reservations of the hoarder, %d of %d honest; refused %v", r.Theirs, r.Honest, r.Shoppers, r.Refused)
	if r.Theirs == 0 || r.Theirs > 150 || len(r.Failures) > 0 {
		t.Errorf("the hoarder has %d reservations, want at most three per account, 150; %v", r.Theirs, r.Failures)
	}
	if r.Honest != r.Shoppers {
		t.Errorf("%d of %d honest shoppers have one", r.Honest, r.Shoppers)
	}
}

// attacked starts a node and runs attackers against it; each sale is fought for during a minute at most. A flood ends
// when the honest shoppers have bought, which on a busy machine can be after 30 requests. The attackers run again until
// floods have sent 200 requests, one per shopper. attacked returns the rows of all runs.
func (s *shop) attacked(fights int, attackers, defences string, args ...string) (rows []attack) {
	s.t.Helper()
	n := startShipped(s.t, s.settings...)
	flood := 0 // requests
	for range 5 {
		out, code := s.run(slices.Concat([]string{
			"load", "attack", "--target", n.addr, "--json", "--attack-after", "1m",
			"--attack-by", attackers, "--attack-defences", defences,
		}, args)...)
		list := out[max(0, strings.Index(out, "[")):] // behind the messages about progress
		var last []attack
		if code != 0 || json.Unmarshal([]byte(list), &last) != nil || len(last) != fights {
			s.t.Fatalf("exit code %d, want %d rows:\n%s", code, fights, out)
		}
		rows = append(rows, last...)
		for _, r := range last {
			if r.Attacker == "flood" {
				flood += r.Sent
			}
		}
		if flood >= 200 || !strings.Contains(attackers, "flood") {
			return rows
		}
	}
	s.t.Errorf("the floods sent %d requests, want 200", flood)
	return rows
}
