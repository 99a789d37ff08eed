package streams

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"stampede/app/shop"
)

// model has the expected state of a sale.
type model struct {
	stock, held, sold, burnt, withdrawn, tickets int64

	units    map[shop.ID]int64
	keys     map[string]modelBuy // user and key → accepted buy
	accepted map[shop.ID]int     // reservations per user
	spent    map[shop.ID]shop.Millis
	holds    map[shop.ID]modelHold
	everHeld []modelHold // all orders, with their last hold
}

// modelHold is a hold with its buyer, which only the row contains.
type modelHold struct {
	shop.OpenHold
	User shop.ID
}

type modelBuy struct {
	order  shop.ID
	ticket int64
	hash   string
}

const (
	modelLimit = 3
	modelCap   = 4
)

// reserve is the rule of reserve.lua in an open sale without backlog bound.
func (m *model) reserve(b shop.Buy) shop.GateResult {
	name := fmt.Sprintf("%d/%s", b.User, b.Key)
	if first, ok := m.keys[name]; ok {
		if first.hash != b.Hash {
			return shop.GateResult{
				Verdict: shop.VerdictOtherHash, Order: first.order, Ticket: first.ticket, Free: m.stock,
			}
		}
		return shop.GateResult{Verdict: shop.VerdictRepeated, Order: first.order, Ticket: first.ticket, Free: m.stock}
	}
	d := shop.GateResult{Order: b.Order, Free: m.stock}
	switch qty := int64(b.Qty); {
	case b.NeedsPass && b.Passed <= m.spent[b.User]:
		d.Verdict = shop.VerdictPass
	case m.accepted[b.User] >= modelCap:
		d.Verdict = shop.VerdictCap
	case m.units[b.User]+qty > modelLimit:
		d.Verdict = shop.VerdictLimit
	case qty > m.stock:
		d.Verdict = shop.VerdictSoldOut
	case m.holds[b.Order].Order != 0:
		d.Verdict = shop.VerdictUsedID
	default:
		m.tickets++
		m.accepted[b.User]++
		if b.NeedsPass {
			m.spent[b.User] = b.Passed
		}
		m.keys[name] = modelBuy{order: b.Order, ticket: m.tickets, hash: b.Hash}
		m.hold(modelHold{OpenHold: shop.OpenHold{Order: b.Order, Hold: 1, Qty: b.Qty}, User: b.User})
		m.everHeld = append(m.everHeld, m.holds[b.Order])
		d.Verdict, d.Ticket, d.Free = shop.VerdictReserved, m.tickets, m.stock
	}
	return d
}

func (m *model) hold(h modelHold) {
	m.holds[h.Order] = h
	m.stock -= int64(h.Qty)
	m.held += int64(h.Qty)
	m.units[h.User] += int64(h.Qty)
}

// returns is the rule of return.lua.
func (m *model) returns(r shop.Return) bool {
	h, ok := m.holds[r.Order]
	if !ok || h.Hold != r.Hold || h.Sold {
		return false
	}
	delete(m.holds, r.Order)
	m.held -= int64(h.Qty)
	m.units[h.User] -= int64(h.Qty)
	if r.Burn {
		m.burnt += int64(h.Qty)
	} else {
		m.stock += int64(h.Qty)
	}
	return true
}

// sell is the rule of sell.lua.
func (m *model) sell(s shop.SoldHold) bool {
	h, ok := m.holds[s.Order]
	if !ok || h.Hold != s.Hold || h.Sold {
		return false
	}
	h.Sold = true
	m.holds[s.Order] = h
	m.held -= int64(h.Qty)
	m.sold += int64(h.Qty)
	return true
}

// withdraw is the rule of withdraw.lua.
func (m *model) withdraw(s shop.SoldHold) bool {
	h, ok := m.holds[s.Order]
	if !ok || h.Hold != s.Hold {
		return false
	}
	delete(m.holds, s.Order)
	if h.Sold {
		m.sold -= int64(h.Qty)
	} else {
		m.held -= int64(h.Qty)
	}
	m.withdrawn += int64(h.Qty)
	return true
}

// takeAgain is the rule of hold.lua.
func (m *model) takeAgain(h modelHold) shop.Verdict {
	standing, open := m.holds[h.Order]
	switch {
	case open && standing.Hold == h.Hold:
		return shop.VerdictRepeated
	case open && standing.Hold > h.Hold:
		return shop.VerdictOtherHash
	case open:
		standing.Hold = h.Hold
		m.holds[h.Order] = standing
		return shop.VerdictReserved
	case m.units[h.User]+int64(h.Qty) > modelLimit:
		return shop.VerdictLimit
	case int64(h.Qty) > m.stock:
		return shop.VerdictSoldOut
	}
	m.hold(h)
	return shop.VerdictReserved
}

// P1, P4, I3: after every sequence of operations, the scripts and the model agree.
func TestScriptsMatchTheModel(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	f.ctx = t.Context() // the long form exceeds the time limit of other tests
	g := f.gate(f.inventory)
	rapid.Check(t, func(rt *rapid.T) {
		stock := rapid.Int64Range(1, 12).Draw(rt, "stock")
		s := f.openSale(stock, func(s *shop.Sale) { s.Limit, s.Cap = modelLimit, modelCap })
		m := &model{
			stock: stock, units: make(map[shop.ID]int64), keys: make(map[string]modelBuy),
			accepted: make(map[shop.ID]int), holds: make(map[shop.ID]modelHold), spent: make(map[shop.ID]shop.Millis),
		}
		passMode := rapid.SampledFrom([]string{"always", "never", "now and then"}).Draw(rt, "pass required")
		someHold := func(rt *rapid.T) modelHold {
			h := rapid.SampledFrom(m.everHeld).Draw(rt, "order")
			h.Hold = rapid.Int64Range(1, 4).Draw(rt, "hold")
			return h
		}
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": func(rt *rapid.T) {
				b := buyOf(s, shop.ID(rapid.IntRange(1, 4).Draw(rt, "user")), rapid.IntRange(1, 4).Draw(rt, "qty"),
					fmt.Sprintf("key-%04d", rapid.IntRange(1, 6).Draw(rt, "key")))
				if passMode == "always" || passMode == "now and then" && rapid.Bool().Draw(rt, "pass required now") {
					b.NeedsPass, b.Passed = true, shop.Millis(rapid.IntRange(0, 6).Draw(rt, "pass"))
				}
				if len(m.everHeld) > 0 && rapid.IntRange(0, 3).Draw(rt, "another id") == 0 {
					other := rapid.SampledFrom(m.everHeld).Draw(rt, "id of")
					if h := m.holds[other.Order]; h.Order != 0 && h.User != b.User {
						b.Order = h.Order // as if another node had generated it
					}
				}
				got, err := reserveUntilKnown(f.ctx, g, b)
				if want := m.reserve(b); err != nil || got != want {
					differ(rt, "P1, P4: a buy", "%+v: %+v, want %+v, %v", b, got, want, err)
				}
			},
			"return": func(rt *rapid.T) {
				if len(m.everHeld) == 0 {
					rt.Skip("nothing was ever reserved")
				}
				h := someHold(rt)
				burn := rapid.Bool().Draw(rt, "burn")
				r := shop.Return{Sale: s.Ref(), Order: h.Order, Hold: h.Hold, User: h.User, Burn: burn}
				got, err := f.stock().Return(f.ctx, []shop.Return{r, r})
				if want := m.returns(r); err != nil || got[0] != want || got[1] {
					differ(rt, "I3: a return", "%+v: %v, want %v once, %v", r, got, want, err)
				}
				// The cooldown depends on time and has its own test.
				if err := f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "rest_until", 0).Err(); err != nil {
					rt.Fatal(err)
				}
			},
			"sell": func(rt *rapid.T) {
				if len(m.everHeld) == 0 {
					rt.Skip("nothing was ever reserved")
				}
				h := someHold(rt)
				sold := shop.SoldHold{Sale: s.Ref(), Order: h.Order, Hold: h.Hold}
				got, err := f.stock().Sell(f.ctx, []shop.SoldHold{sold, sold})
				if want := m.sell(sold); err != nil || got[0] != want || got[1] {
					differ(rt, "I3: a sell", "%+v: %v, want %v once, %v", sold, got, want, err)
				}
			},
			"withdraw": func(rt *rapid.T) {
				if len(m.everHeld) == 0 {
					rt.Skip("nothing was ever reserved")
				}
				h := someHold(rt)
				sold := shop.SoldHold{Sale: s.Ref(), Order: h.Order, Hold: h.Hold}
				got, err := f.stock().Withdraw(f.ctx, []shop.SoldHold{sold, sold})
				if want := m.withdraw(sold); err != nil || got[0] != want || got[1] {
					differ(rt, "I3: a withdraw", "%+v: %v, want %v once, %v", sold, got, want, err)
				}
			},
			"hold": func(rt *rapid.T) {
				if len(m.everHeld) == 0 {
					rt.Skip("nothing was ever reserved")
				}
				h := someHold(rt)
				got, err := f.stock().Hold(f.ctx, shop.HoldRequest{
					Sale: s.Ref(), Order: h.Order, User: h.User, Hold: h.Hold, Qty: h.Qty,
				})
				if want := m.takeAgain(h); err != nil || got != want {
					differ(rt, "I3: a hold", "%+v: %d, want %d, %v", h, got, want, err)
				}
			},
			"": func(rt *rapid.T) { m.compare(rt, f, s) },
		})
	})
}

// differ ends the sequence. The same sequence must end with the same text, or rapid does not shrink it. Texts with ids
// are logged.
func differ(rt *rapid.T, what, format string, args ...any) {
	rt.Helper()
	rt.Logf(format, args...)
	rt.Fatalf("%s differs from the model", what)
}

func (m *model) compare(rt *rapid.T, f *fixture, s *shop.Sale) {
	a, err := f.stock().Audit(f.ctx, s.Ref())
	if err != nil || a.Stock != m.stock || a.Held != m.held || a.Sold != m.sold || a.Burnt != m.burnt ||
		a.Withdrawn != m.burnt+m.withdrawn || a.Tickets != m.tickets {
		differ(rt, "P1: the counters",
			"%+v burnt %d, the model has stock %d held %d sold %d burnt %d withdrawn %d tickets %d, %v",
			a.Counters, a.Burnt, m.stock, m.held, m.sold, m.burnt, m.withdrawn, m.tickets, err)
	}
	if len(a.Holds) != len(m.holds) {
		differ(rt, "I3: the holds", "%d holds, the model has %d", len(a.Holds), len(m.holds))
	}
	for _, h := range a.Holds {
		if m.holds[h.Order].OpenHold != h {
			differ(rt, "I3: the holds", "hold %+v, the model has %+v", h, m.holds[h.Order])
		}
	}
	for user, units := range a.Units {
		if m.units[user] != units {
			differ(rt, "P4: the units", "user %d has %d units, the model has %d", user, units, m.units[user])
		}
	}
}
