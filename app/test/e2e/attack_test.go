package e2e

import (
	"cmp"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/attack"
	"stampede/app/test/kit"
)

// requests is the minimum number of an attacker's requests per sale, floodRequests that of a flood. The attacker
// continues if the sale is sold out earlier.
const requests, floodRequests = 20, 200

// attempt is an attack on a sale with a challenge.
type attempt struct {
	name      string
	attacker  attack.Attacker
	challenge shop.Challenge
	lead      time.Duration // before the sale opens; 0: four seconds
	attack.Options
}

// runAttack lets honest shoppers and an attacker compete for a sale with the challenge. By default the sale has one
// unit per honest shopper. It checks that the attacker sent enough requests and that no unit was sold twice (P1).
func (s *testShop) runAttack(n *node, a attempt) attack.Result {
	s.t.Helper()
	name, kind, o := a.name, a.challenge, a.Options
	opensAt := time.Now().Add(cmp.Or(a.lead, 4*time.Second))
	sale := shop.Sale{
		Initial: max(o.Sale.Initial, int64(o.Honest)), Limit: 1, Cap: 3, Challenge: kind,
		OpensAt: shop.MillisOf(opensAt), ClosesAt: shop.MillisOf(opensAt.Add(time.Hour)),
	}
	o.Other = s.add(sale)
	o.Sale = s.add(sale)
	o.Address, o.For = n.addr, time.Minute
	o.Token = func() string { return token(s.t, kit.NewID()) }
	o.SolveCaptcha = s.readPicture
	r, err := attack.Run(s.t.Context(), a.attacker, o)
	s.must(err)
	s.t.Logf("%s against %s: %d requests, %d reservations, %.2f %%, work %.2f %%, %d pictures, %d accounts blocked; "+
		"%d of %d honest; refused %v", name, kind, r.Sent, r.AttackerOrders, 100*r.Share, 100*r.Work, r.Pictures, r.Blocked,
		r.Honest, o.Honest, r.Refused)
	for _, failure := range r.Failures {
		s.t.Errorf("%s against %s: %v", name, kind, failure)
	}
	if want := max(requests, o.Requests); r.Sent < want {
		s.t.Errorf("%s against %s: %d requests, want at least %d", name, kind, r.Sent, want)
	}
	if !o.Persist && (r.AttackerOrders+r.Honest > int(sale.Initial) || r.Honest < o.Honest-r.AttackerOrders) {
		s.t.Errorf("%s against %s: %d reservations of the attacker, %d of %d honest shoppers, %d units",
			name, kind, r.AttackerOrders, r.Honest, o.Honest, sale.Initial)
	}
	s.audit(o.Sale)
	return r
}

// TestAttackersGetFewUnits: 200 honest shoppers compete for the 200 units of a sale. Attackers who replay, prepare or
// flood requests get less than 1 % of the units if the sale requires a pass or work. An attacker who does the work gets
// at most the share of units that equals the share of the work.
func TestAttackersGetFewUnits(t *testing.T) {
	t.Parallel()
	both := []shop.Challenge{shop.ChallengePass, shop.ChallengeWork}
	for name, c := range map[string]struct {
		attacker attack.Attacker
		kinds    []shop.Challenge
		requests int
		units    int64
	}{
		"replay":   {attack.Replay, both, requests, 200},
		"prepared": {attack.Prepared, both, requests, 200},
		"flood":    {attack.Flood, both, floodRequests, 200},
		"solver":   {attack.Solver, both[1:], 0, 400}, // enough for all passes, so that only the work limits buys
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
			s.must(s.store.Settings().SetWorkBits(kit.Context(t), 10))
			n := startShipped(t, s.settings...)
			for _, kind := range c.kinds {
				o := attack.Options{
					Sale: shop.Sale{Initial: c.units}, Honest: 200, Accounts: 200, Requests: c.requests,
				}
				r := s.runAttack(n, attempt{name: name, attacker: c.attacker, challenge: kind, Options: o})
				switch {
				case name != "solver":
					if r.Share >= 0.01 {
						t.Errorf("%s against %s: the attacker got %.2f %% of the units, more than the limit", name, kind, 100*r.Share)
					}
				case r.Honest != o.Honest || r.Work == 0 || r.Share > r.Work:
					t.Errorf("the solver has %.2f %% of the units for %.2f %% of the work, %d of %d honest",
						100*r.Share, 100*r.Work, r.Honest, o.Honest)
				}
			}
		})
	}
}

// If the sale requires a captcha, a farm that cannot read pictures gets no unit, with any number of accounts and
// addresses. An attacker who pays for reading gets at most one unit per picture.
func TestFarmGetsAtMostOneUnitPerSolvedPicture(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=1h")
	n := startShipped(t, s.settings...)
	for name, o := range map[string]attack.Options{
		"fifty-addresses": {Honest: 50, Accounts: 50, Requests: requests},
		"paid-reader": { // ten units remain for it, even if all others are faster
			Honest: 50, Accounts: 50, Requests: requests, Pictures: 5, Sale: shop.Sale{Initial: 60},
		},
	} {
		r := s.runAttack(n, attempt{
			name: name, attacker: attack.FiftyAddresses, challenge: shop.ChallengeCaptcha, lead: 15 * time.Second,
			Options: o,
		})
		paid := o.Pictures > 0
		if r.AttackerOrders > r.Pictures || paid != (r.AttackerOrders > 0) || paid != (r.Pictures > 0) {
			t.Errorf("%s: got %d units for %d solved pictures, want at most one per picture", name, r.AttackerOrders, r.Pictures)
		}
	}
}

// The preset `strict` limits a farm behind one address and a flood by address and user, although the sale requires no
// challenge. Not t.Parallel: slow honest shoppers give the farm more time.
func TestStrictLimitsRestrictAttackers(t *testing.T) {
	s := newShop(t, "STAMPEDE_LIMITS=strict", "STAMPEDE_PAY_WINDOW=1h")
	n := startShipped(t, s.settings...)
	flood := s.runAttack(n, attempt{
		name: "flood", attacker: attack.Flood, challenge: shop.ChallengeNone,
		Options: attack.Options{Honest: 200, Requests: floodRequests},
	})
	farm := s.runAttack(n, attempt{
		name: "one-address", attacker: attack.OneAddress, challenge: shop.ChallengeNone,
		Options: attack.Options{Honest: 200, Accounts: 200, Requests: requests},
	})
	if flood.Share > 0.2 || farm.Share > 0.2 {
		t.Errorf("the flood has %.2f %% of the units, the farm %.2f %%; want at most 20 %% each", 100*flood.Share, 100*farm.Share)
	}
}

// An attacker who repeatedly reserves units and lets them expire is limited by the cap on reservations. All honest
// shoppers buy in the end.
func TestHoarderDoesNotPreventBuys(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=2s")
	n := startShipped(t, s.settings...)
	r := s.runAttack(n, attempt{
		name: "hoarder", attacker: attack.Hoarder, challenge: shop.ChallengePass,
		Options: attack.Options{Honest: 200, Requests: requests, Persist: true},
	})
	if r.AttackerOrders == 0 || r.AttackerOrders > 150 {
		t.Errorf("the hoarder has %d reservations, want 1 to 150 (three per account)", r.AttackerOrders)
	}
	if r.Honest != 200 {
		t.Errorf("%d of 200 honest shoppers have a reservation, want all", r.Honest)
	}
}
