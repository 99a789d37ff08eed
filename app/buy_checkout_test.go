package app

import (
	"context"
	"testing"
	"time"
)

// settlingWorld has one order that becomes a row, and stops waiting, right after the first look at it.
type settlingWorld struct {
	Inventory
	OrderStore
	looks int
}

func (w *settlingWorld) settled() bool {
	w.looks++
	return w.looks > 1
}

func (w *settlingWorld) Waiting(context.Context, ID) ([]Reservation, error) {
	if w.settled() {
		return nil, nil
	}
	return []Reservation{{Order: 2, Sale: 7}}, nil
}

func (w *settlingWorld) OrdersOf(context.Context, OrdersQuery) ([]Order, bool, error) {
	rows := []Order{{ID: 1, Sale: 7, State: Pending}, {ID: 3, Sale: 7, State: Expired}}
	if w.settled() {
		rows = append(rows, Order{ID: 2, Sale: 7, State: Pending})
	}
	return rows, false, nil
}

// limit_reached names everything that the buyer holds, each once, also what gets its row at this very moment.
func TestLimitReachedNamesAnOrderThatSettlesMeanwhile(t *testing.T) {
	t.Parallel()
	world := &settlingWorld{}
	checkout := &Checkout{Inventory: world, Orders: world}
	e := AsError(checkout.limitReached(context.Background(), &Sale{ID: 7}, 5, "at most 2 per buyer"))
	named := map[ID]int{}
	for _, o := range e.Orders {
		named[o.ID]++
	}
	if len(e.Orders) != 2 || named[1] != 1 || named[2] != 1 {
		t.Errorf("it names %v, want orders 1 and 2", e.Orders)
	}
}

// scriptedGate answers every buy the same way, and tells from a goroutine of its own.
type scriptedGate struct {
	answer GateAnswer
	err    error
}

func (g scriptedGate) Reserve(b Buy, _ time.Time, then func(GateAnswer, error)) {
	d := g.answer
	d.Order = b.Order
	go then(d, g.err)
}

// usedIDs is a gate that has seen so many of the ids that come.
type usedIDs struct {
	left int
	sent []Buy
}

func (g *usedIDs) Reserve(b Buy, _ time.Time, then func(GateAnswer, error)) {
	g.sent = append(g.sent, b)
	d := GateAnswer{Verdict: VerdictReserved, Order: b.Order}
	if g.left--; g.left >= 0 {
		d.Verdict = VerdictUsedID
	}
	then(d, nil)
}

// An order id that another node has generated, too, is replaced under the same key, but not without end.
func TestUsedOrderIDsAreReplaced(t *testing.T) {
	t.Parallel()
	for used, want := range map[int]Code{maxOrderIDs - 1: "", maxOrderIDs: Busy} {
		g, last := &usedIDs{left: used}, ID(10)
		checkout := tracedCheckout(t, g)
		checkout.Mint = func() (ID, error) { last++; return last, nil }
		receipt, err := checkout.Buy(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-of-it"})
		if err == nil && (want != "" || receipt.Order != last) || err != nil && AsError(err).Code != want {
			t.Errorf("%d used: %+v, %v, want %q", used, receipt, err, want)
		}
		for i, b := range g.sent {
			if b.Key != "key-of-it" || b.Order != ID(11+i) || len(g.sent) != maxOrderIDs {
				t.Errorf("%d used: sent %+v", used, g.sent)
			}
		}
	}
}

// A repeated key never tells of the order of another buyer whose id is the same.
func TestRepeatHidesTheOrderOfAnother(t *testing.T) {
	t.Parallel()
	row := Order{User: 6, Sale: 7, State: Paid}
	checkout := &Checkout{Orders: &lateRow{row: row}}
	for user, want := range map[ID]OrderState{5: Refused, 6: Paid} {
		buy := Buy{User: user, Sale: SaleRef{ID: 7}}
		if got := checkout.stateByNow(t.Context(), buy, Receipt{State: Reserved}).State; got != want {
			t.Errorf("user %d: %s, want %s", user, got, want)
		}
	}
}

// brokenStore panics when it is asked for an order.
type brokenStore struct{ OrderStore }

func (brokenStore) Order(context.Context, ID) (Order, error) { panic("secret of the database") }

// Whatever the gate answers, a buyer is told once: also when more must be asked, and when what is asked breaks down.
func TestEveryBuyIsToldOnce(t *testing.T) {
	t.Parallel()
	rows := &settlingWorld{}
	for _, c := range []struct {
		name  string
		gate  scriptedGate
		order OrderStore
		want  Code // "" when it is reserved
	}{
		{"reserved", scriptedGate{answer: GateAnswer{Verdict: VerdictReserved, Ticket: 3, Done: 1}}, rows, ""},
		{"sold out", scriptedGate{answer: GateAnswer{Verdict: VerdictSoldOut}}, rows, SoldOut},
		{"limit", scriptedGate{answer: GateAnswer{Verdict: VerdictLimit}}, rows, LimitReached},
		{"unknown outcome", scriptedGate{err: ErrTransient}, rows, Busy},
		{"backlog full", scriptedGate{answer: GateAnswer{Verdict: VerdictBacklog}}, rows, Busy},
		{"rebuild", scriptedGate{answer: GateAnswer{Verdict: VerdictRecovering}}, rows, Busy},
		{
			"a repeat, and the database breaks down",
			scriptedGate{answer: GateAnswer{Verdict: VerdictRepeated}},
			brokenStore{},
			Internal,
		},
		{"not in Redis, long closed", scriptedGate{answer: GateAnswer{Verdict: VerdictNotLoaded}}, rows, Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			checkout := &Checkout{
				Catalogue: catalogueOf(t, Sale{ID: 7, OpensAt: 1, ClosesAt: 2, Limit: 2}), Gate: c.gate, SoldOut: NewSoldOutFlags(nil),
				Inventory: &settlingWorld{}, Orders: c.order, Clock: clock,
				Mint: func() (ID, error) { return 11, nil },
			}
			told := make(chan error, 2)
			checkout.BuyThen(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-of-it"}, func(r Receipt, err error) {
				if err == nil && (r.Order != 11 || r.State != Reserved || r.Place != 1) {
					t.Errorf("receipt %+v", r)
				}
				told <- err
			})
			var code Code
			if err := <-told; err != nil {
				code = AsError(err).Code
				if code == Busy && AsError(err).RetryMS <= 0 {
					t.Errorf("busy without retry_ms: %v", err)
				}
			}
			checkout.Close()
			if code != c.want || len(told) > 0 {
				t.Errorf("told %q, want %q; %d times more", code, c.want, len(told))
			}
		})
	}
}
