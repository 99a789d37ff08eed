package payment

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// refundStore has an order and its refund.
type refundStore struct {
	unexpected
	*fakes.OneOrder
	refund Refund
}

func (r *refundStore) ClaimRefunds(_ context.Context, now, decidedBy shop.Millis, _ int) ([]Refund, error) {
	if r.refund.State != RefundOpen || r.refund.NextAt > now || r.refund.DecidedAt > decidedBy {
		return nil, nil
	}
	r.refund.Attempts++
	r.refund.NextAt = now.Add(RefundPause(r.refund.Attempts))
	return []Refund{r.refund}, nil
}

func (r *refundStore) RecordRefundAttempt(_ context.Context, _ shop.ID, note string, stuck bool) error {
	r.refund.Note = note
	if stuck {
		r.refund.State = RefundStuck
	}
	return nil
}

func (r *refundStore) FinishRefund(context.Context, shop.ID, shop.Millis) (shop.Order, error) {
	if err := r.FailAt("commit"); err != nil {
		return shop.Order{}, err
	}
	if r.Row.State == shop.Refunding {
		r.Add("commit")
		r.Row.State, r.Row.Rev, r.Row.Touched, r.refund.State = shop.Refunded, r.Row.Rev+1, true, RefundDone
	}
	return r.Row, nil
}

func (r *refundStore) RefundBacklog(context.Context) (RefundBacklog, error) {
	return RefundBacklog{Stuck: 1}, nil
}

// fakeGateway refunds by request number and returns the errors that a test sets.
type fakeGateway struct {
	Gateway
	*fakes.Trace
	refunded  map[string]int64
	refusal   error // error of Refund, without a refund
	lostReply error // error of Refund, after the refund
	queryErr  error // error of Refunded
}

func (g *fakeGateway) Refund(_ context.Context, r RefundRequest) error {
	g.Add("refund")
	if g.refusal != nil {
		return g.refusal
	}
	if g.refunded[r.Request] != 0 {
		return g.lostReply // the same refund, not a second one
	}
	g.refunded[r.Request] = r.AmountFen
	return g.lostReply
}

func (g *fakeGateway) Refunded(_ context.Context, r RefundRequest) (bool, error) {
	g.Add("query")
	return g.refunded[r.Request] != 0, g.queryErr
}

func newTestRefunder() (*Refunder, *refundStore, *fakeGateway, *fakes.Redis) {
	tr := &fakes.Trace{}
	refunds := &refundStore{
		OneOrder: &fakes.OneOrder{Trace: tr, Row: shop.Order{
			ID: 1, Sale: 7, User: 9, State: shop.Refunding, AmountFen: 500, Hold: 2, Rev: 3, PublishedRev: 3,
		}},
		refund: Refund{Order: 1, Request: "R1", State: RefundOpen, AmountFen: 500},
	}
	gateway := &fakeGateway{Trace: tr, refunded: map[string]int64{}}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000}
	return &Refunder{
		Gateway: gateway, Refunds: refunds, Orders: refunds, Stock: inventory,
		Effects: effectsOf(inventory, refunds, &fakes.Notifier{Trace: tr}), Durable: func() bool { return true },
	}, refunds, gateway, inventory
}

// skipPause advances the clock beyond the pause of the last attempt.
func skipPause(redis *fakes.Redis) { redis.At = redis.At.Add(lastRefundPause) }

// P8: first the gateway, then the row, then the units, then the buyer. An order with late money has sold no units: a
// hold that is left is returned, and no unit is withdrawn. app/test/money proves the same steps on real stores, with a
// crash after each.
func TestLateRefundWithdrawsNoUnits(t *testing.T) {
	t.Parallel()
	r, refunds, _, _ := newTestRefunder()
	refunds.Row.CancelledAt = 900_000
	fakes.Must(t, r.RunOnce(context.Background()))
	fakes.WantSteps(t, refunds.Trace, "refund", "commit", "return 1", "publish 1")
}

// P8, C9: if a failover could lose the row of a refund, the refund is sent when its row is 30 s old.
func TestRefundWaitsWhileItsRowCanBeLost(t *testing.T) {
	t.Parallel()
	r, refunds, _, redis := newTestRefunder()
	r.Durable = func() bool { return false }
	refunds.refund.DecidedAt = redis.At
	redis.At = redis.At.Add(refundHold - time.Millisecond)
	fakes.Must(t, r.RunOnce(context.Background()))
	fakes.WantSteps(t, refunds.Trace)
	redis.At = redis.At.Add(time.Millisecond)
	fakes.Must(t, r.RunOnce(context.Background()))
	if refunds.Row.State != shop.Refunded {
		t.Errorf("the order is %s after the pause, want refunded", refunds.Row.State)
	}
}

func TestStuckRefundsAreCounted(t *testing.T) {
	t.Parallel()
	r, _, _, _ := newTestRefunder()
	fakes.Must(t, r.RunOnce(context.Background()))
	if got := r.Backlog().Stuck; got != 1 {
		t.Errorf("got %d stuck refunds, want the one of the database", got)
	}
}

// I6, P8: after a lost reply the refund is queried, and money is never refunded twice.
func TestLostRefundReplyIsQueried(t *testing.T) {
	t.Parallel()
	r, refunds, gateway, inventory := newTestRefunder()
	gateway.lostReply, gateway.queryErr = shop.ErrTransient, shop.ErrTransient
	fakes.Must(t, r.RunOnce(context.Background()))
	if refunds.refund.State != RefundOpen || refunds.refund.Note == "" {
		t.Fatalf("got the refund %+v, want it open with a note", refunds.refund)
	}
	if err := r.RunOnce(context.Background()); err != nil { // the pause of the refund has not ended
		t.Fatal(err)
	}
	fakes.WantSteps(t, refunds.Trace, "refund", "query")
	gateway.queryErr = nil
	skipPause(inventory)
	fakes.Must(t, r.RunOnce(context.Background()))
	fakes.WantSteps(t, refunds.Trace, "refund", "query", "query", "commit", "withdraw 1", "publish 1")
	if gateway.refunded["R1"] != 500 {
		t.Errorf("got refunds %v, want 500 fen by the request R1", gateway.refunded)
	}
}

// P8: a final rejection needs an operator. A rejection because the refund is already done counts as success.
func TestRejectedRefundIsStuckUnlessDone(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		r, refunds, gateway, inventory := newTestRefunder()
		gateway.refusal = fmt.Errorf("%w: ACQ.TRADE_HAS_CLOSE", ErrGatewayRefused)
		want := RefundStuck
		if done {
			gateway.refunded["R1"], want = 500, RefundDone
		}
		for range 2 {
			fakes.Must(t, r.RunOnce(context.Background()))
			skipPause(inventory)
		}
		if refunds.refund.State != want {
			t.Errorf("already refunded %v: got state %s (%s), want %s", done, refunds.refund.State, refunds.refund.Note, want)
		}
	}
}

func TestRefundPauseGrowsToMaximum(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{
		1: 15 * time.Second, 2: 30 * time.Second, 3: time.Minute, 7: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := RefundPause(attempt); got != want {
			t.Errorf("after attempt %d: got pause %v, want %v", attempt, got, want)
		}
	}
}
