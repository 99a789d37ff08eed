package order

import (
	"context"
	"testing"
	"time"

	"stampede/app/shop"
)

// settlingWorld has one order that becomes a row and stops waiting right after the first read.
type settlingWorld struct {
	Queue
	Store
	reads int
}

func (w *settlingWorld) settled() bool {
	w.reads++
	return w.reads > 1
}

func (w *settlingWorld) Waiting(context.Context, shop.ID) ([]shop.Reservation, error) {
	if w.settled() {
		return nil, nil
	}
	return []shop.Reservation{{Order: 2, Sale: 7}}, nil
}

func (w *settlingWorld) OrdersOf(context.Context, shop.OrdersQuery) ([]shop.Order, bool, error) {
	rows := []shop.Order{{ID: 1, Sale: 7, State: shop.Pending}, {ID: 3, Sale: 7, State: shop.Expired}}
	if w.settled() {
		rows = append(rows, shop.Order{ID: 2, Sale: 7, State: shop.Pending})
	}
	return rows, false, nil
}

// limit_reached lists each held order exactly once, even one that gets its row between the two reads.
func TestLimitReachedListsEachOrderOnce(t *testing.T) {
	t.Parallel()
	world := &settlingWorld{}
	b := buying{checkout: &Checkout{Queue: world, Store: world}, ctx: t.Context()}
	b.buy.Sale.ID, b.buy.User = 7, 5
	e := shop.AsError(b.limitReached("at most 2 per buyer"))
	named := map[shop.ID]int{}
	for _, o := range e.Orders {
		named[o.ID]++
	}
	if len(e.Orders) != 2 || named[1] != 1 || named[2] != 1 {
		t.Errorf("got orders %v, want 1 and 2", e.Orders)
	}
}

// scriptedGate returns the same result for each buy, from its own goroutine.
type scriptedGate struct {
	result shop.GateResult
	err    error
}

func (g scriptedGate) Reserve(b shop.Buy, _ time.Time, then func(shop.GateResult, error)) {
	d := g.result
	d.Order = b.Order
	go then(d, g.err)
}

// usedIDs is a gate that rejects the first order IDs as used; `left` is their number.
type usedIDs struct {
	left int
	sent []shop.Buy
}

func (u *usedIDs) Reserve(b shop.Buy, _ time.Time, then func(shop.GateResult, error)) {
	u.sent = append(u.sent, b)
	d := shop.GateResult{Verdict: shop.VerdictReserved, Order: b.Order}
	if u.left--; u.left >= 0 {
		d.Verdict = shop.VerdictUsedID
	}
	then(d, nil)
}

// An order ID that another node also generated is replaced under the same key, up to maxOrderIDs attempts.
func TestUsedOrderIDsAreReplaced(t *testing.T) {
	t.Parallel()
	for used, want := range map[int]shop.Code{maxOrderIDs - 1: "", maxOrderIDs: shop.Busy} {
		g, last := &usedIDs{left: used}, shop.ID(10)
		checkout := tracedCheckout(t, g)
		checkout.Mint = func() (shop.ID, error) { last++; return last, nil }
		receipt, err := checkout.Buy(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-0001"})
		if err == nil && (want != "" || receipt.Order != last) || err != nil && shop.AsError(err).Code != want {
			t.Errorf("%d used IDs: got %+v, %v; want code %q", used, receipt, err, want)
		}
		for i, b := range g.sent {
			if b.Key != "key-0001" || b.Order != shop.ID(11+i) || len(g.sent) != maxOrderIDs {
				t.Errorf("%d used IDs: unexpected calls %+v", used, g.sent)
			}
		}
	}
}

// A repeated key does not expose another buyer's order with the same ID.
func TestRepeatHidesTheOrderOfAnotherBuyer(t *testing.T) {
	t.Parallel()
	row := shop.Order{User: 6, Sale: 7, State: shop.Paid}
	checkout := &Checkout{Store: &rowStore{row: row}}
	for user, want := range map[shop.ID]shop.OrderState{5: shop.Refused, 6: shop.Paid} {
		b := buying{checkout: checkout, ctx: t.Context()}
		b.buy.Sale.ID, b.buy.User = 7, user
		if got := b.currentState(Receipt{State: shop.Reserved}).State; got != want {
			t.Errorf("user %d: got state %s, want %s", user, got, want)
		}
	}
}

// brokenStore panics when an order is read.
type brokenStore struct{ Store }

func (brokenStore) Order(context.Context, shop.ID) (shop.Order, error) {
	panic("secret of the database")
}

// For each gate result the buyer gets exactly one reply, even if a later read is needed and panics.
func TestEveryBuyGetsOneReply(t *testing.T) {
	t.Parallel()
	rows := &settlingWorld{}
	for _, c := range []struct {
		name  string
		gate  scriptedGate
		order Store
		want  shop.Code // "": reserved
	}{
		{"reserved", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictReserved, Ticket: 3, Done: 1}}, rows, ""},
		{"sold out", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictSoldOut}}, rows, shop.SoldOut},
		{"limit reached", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictLimit}}, rows, shop.LimitReached},
		{"unknown outcome", scriptedGate{err: shop.ErrTransient}, rows, shop.Busy},
		{"backlog full", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictBacklog}}, rows, shop.Busy},
		{"partition recovering", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictRecovering}}, rows, shop.Busy},
		{
			"repeated key while the database fails",
			scriptedGate{result: shop.GateResult{Verdict: shop.VerdictRepeated}},
			brokenStore{},
			shop.Internal,
		},
		{"sale not in Redis, closed long ago", scriptedGate{result: shop.GateResult{Verdict: shop.VerdictNotLoaded}}, rows, shop.Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clock := shop.NewClock()
			checkout := &Checkout{
				Catalogue: catalogueOf(
					t, shop.Sale{ID: 7, OpensAt: 1, ClosesAt: 2, Limit: 2},
				), Gate: c.gate, SoldOut: NewSoldOutFlags(nil),
				Queue: &settlingWorld{}, Store: c.order, Clock: clock,
				Mint: func() (shop.ID, error) { return 11, nil },
			}
			replies := make(chan error, 2)
			checkout.BuyAsync(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-0001"}, func(r Receipt, err error) {
				if err == nil && (r.Order != 11 || r.State != shop.Reserved || r.Place != 1) {
					t.Errorf("got receipt %+v, want order 11 reserved at place 1", r)
				}
				replies <- err
			})
			var code shop.Code
			if err := <-replies; err != nil {
				code = shop.AsError(err).Code
				if code == shop.Busy && shop.AsError(err).RetryMS <= 0 {
					t.Errorf("busy without retry_ms: %v", err)
				}
			}
			checkout.Close()
			if code != c.want || len(replies) > 0 {
				t.Errorf("got code %q, want %q; %d more results, want none", code, c.want, len(replies))
			}
		})
	}
}
