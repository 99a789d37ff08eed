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
				Catalogue: NewCatalogue(nil, nil, time.UTC), Gate: c.gate, SoldOut: NewSoldOutFlags(nil),
				Inventory: &settlingWorld{}, Orders: c.order, Clock: clock,
				Mint: func() (ID, error) { return 11, nil },
			}
			checkout.Catalogue.known.sales[7] = &Sale{ID: 7, OpensAt: 1, ClosesAt: 2, Limit: 2}
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
