package app

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// oneOrder is a store of one order in memory, which fails once at the step that a test names.
type oneOrder struct {
	OrderStore
	*trace
	order Order
	fail  string
}

// falls reports whether the step fails now: before it does anything, and only once.
func (b *oneOrder) falls(step string) error {
	if b.fail != step {
		return nil
	}
	b.fail = ""
	return fmt.Errorf("%s: %w", step, ErrTransient)
}

func (b *oneOrder) Order(context.Context, ID) (Order, error) { return b.order, b.falls("read") }

func (b *oneOrder) MarkTold(context.Context, []*Order) error { return nil }

// refundStore has the order's refund, too.
type refundStore struct {
	RefundStore
	*oneOrder
	refund Refund
}

func (b *refundStore) ClaimRefunds(_ context.Context, now Millis, _ int) ([]Refund, error) {
	if b.refund.State != RefundOpen || b.refund.NextAt > now {
		return nil, nil
	}
	b.refund.Attempts++
	b.refund.NextAt = now.Add(RefundPause(b.refund.Attempts))
	return []Refund{b.refund}, nil
}

func (b *refundStore) NoteRefund(_ context.Context, _ ID, note string, stuck bool) error {
	b.refund.Note = note
	if stuck {
		b.refund.State = RefundStuck
	}
	return nil
}

func (b *refundStore) FinishRefund(context.Context, ID, Millis) (Order, error) {
	if err := b.falls("commit"); err != nil {
		return Order{}, err
	}
	if b.order.State == Refunding {
		b.add("commit")
		b.order.State, b.order.Rev, b.order.Stamped, b.refund.State = Refunded, b.order.Rev+1, true, RefundDone
	}
	return b.order, nil
}

func (b *refundStore) RefundBacklog(context.Context) (RefundBacklog, error) {
	return RefundBacklog{Stuck: 1}, nil
}

func (b *oneOrder) OrdersByID(context.Context, []ID) ([]Order, error) {
	return []Order{b.order}, nil
}

func (l *fakeInventory) Withdraw(_ context.Context, gone []SoldHold) ([]bool, error) {
	l.add("withdraw %d", len(gone))
	return make([]bool, len(gone)), nil
}

// fakeGateway gives money back by request number, and answers what a test wants.
type fakeGateway struct {
	Gateway
	*trace
	given  map[string]int64
	answer error // of Refund, instead of doing it
	lost   error // of Refund, after having done it
	silent error // of Refunded
}

func (g *fakeGateway) Refund(_ context.Context, r RefundRequest) error {
	g.add("refund")
	if g.answer != nil {
		return g.answer
	}
	if g.given[r.Request] != 0 {
		return g.lost // the same refund, not a second one
	}
	g.given[r.Request] = r.AmountFen
	return g.lost
}

func (g *fakeGateway) Refunded(_ context.Context, r RefundRequest) (bool, error) {
	g.add("ask")
	return g.given[r.Request] != 0, g.silent
}

func newTestRefunder() (*Refunder, *refundStore, *fakeGateway, *fakeInventory) {
	tr := &trace{}
	book := &refundStore{
		oneOrder: &oneOrder{trace: tr, order: Order{
			ID: 1, Sale: 7, User: 9, State: Refunding, AmountFen: 500, Hold: 2, Rev: 3, ToldRev: 3,
		}},
		refund: Refund{Order: 1, Request: "R1", State: RefundOpen, AmountFen: 500},
	}
	gateway := &fakeGateway{trace: tr, given: map[string]int64{}}
	inventory := &fakeInventory{trace: tr, now: 1_000_000}
	return &Refunder{
		Gateway: gateway, Refunds: book, Orders: book, Inventory: inventory,
		Effects: effectsOf(inventory, book, &fakeNotifier{trace: tr}),
	}, book, gateway, inventory
}

// passPause lets the pause of the last attempt pass.
func passPause(l *fakeInventory) { l.now = l.now.Add(lastRefundPause) }

func wantSteps(t *testing.T, tr *trace, want ...string) {
	t.Helper()
	if !slices.Equal(tr.steps, want) {
		t.Errorf("steps %v, want %v", tr.steps, want)
	}
}

// P8: the gateway first, then the row, then the units, then the buyer. Late money belongs to an order that holds no
// units: none are withdrawn. app/test/money proves the same steps on real stores, with a crash after each.
func TestRefundOfLateMoneyWithdrawsNothing(t *testing.T) {
	t.Parallel()
	r, book, _, _ := newTestRefunder()
	book.order.CancelledAt = 900_000
	must(t, r.RunOnce(context.Background()))
	wantSteps(t, book.trace, "refund", "commit", "return 1", "tell 1")
	if r.Backlog().Stuck != 1 {
		t.Error("the stuck refund was not counted")
	}
}

// I6, P8: an answer that was lost is asked for, and nothing is given back twice.
func TestLostAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	r, book, gateway, inventory := newTestRefunder()
	gateway.lost, gateway.silent = ErrTransient, ErrTransient
	must(t, r.RunOnce(context.Background()))
	if book.refund.State != RefundOpen || book.refund.Note == "" {
		t.Fatalf("%+v", book.refund)
	}
	if err := r.RunOnce(context.Background()); err != nil { // its pause is not over
		t.Fatal(err)
	}
	wantSteps(t, book.trace, "refund", "ask")
	gateway.silent = nil
	passPause(inventory)
	must(t, r.RunOnce(context.Background()))
	wantSteps(t, book.trace, "refund", "ask", "ask", "commit", "withdraw 1", "tell 1")
	if gateway.given["R1"] != 500 {
		t.Errorf("given back: %v", gateway.given)
	}
}

// P8: a final no is for people to look at; a no because it was done before is a yes.
func TestRefusedRefundIsStuckUnlessItWasDone(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		r, book, gateway, inventory := newTestRefunder()
		gateway.answer = fmt.Errorf("%w: ACQ.TRADE_HAS_CLOSE", ErrGatewayRefused)
		want := RefundStuck
		if done {
			gateway.given["R1"], want = 500, RefundDone
		}
		for range 2 {
			must(t, r.RunOnce(context.Background()))
			passPause(inventory)
		}
		if book.refund.State != want {
			t.Errorf("done before: %v; it is %s: %s", done, book.refund.State, book.refund.Note)
		}
	}
}

func TestRefundPauseGrowsToItsBound(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{
		1: 15 * time.Second, 2: 30 * time.Second, 3: time.Minute, 7: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := RefundPause(attempt); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
}
