package app

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// lateWorld is an order of which late money was received: its row, and how the stores answer.
type lateWorld struct {
	OrderStore
	SaleStore
	*trace
	row     Order
	claim   error
	verdict Verdict
	revive  error
	begin   error
	closes  Millis
}

func (w *lateWorld) Sale(context.Context, ID) (Sale, error) {
	return Sale{ID: 7, Epoch: 3, ClosesAt: w.closes}, nil
}

func (w *lateWorld) Order(context.Context, ID) (Order, error) { return w.row, nil }

func (w *lateWorld) ClaimHold(context.Context, ID, OrderState) (Order, error) {
	w.add("claim")
	if w.claim != nil {
		return Order{}, w.claim
	}
	w.row.Hold++
	return w.row, nil
}

func (w *lateWorld) Restamp(_ context.Context, ids []ID) ([]Order, error) {
	w.add("stamp %d", len(ids))
	w.row.Stamped = true
	return []Order{w.row}, nil
}

func (w *lateWorld) BeginRefund(
	_ context.Context, _ ID, _ []OrderState, request, reason string, _ Millis,
) (Order, error) {
	w.add("refund %s: %s", request, reason)
	if w.begin != nil {
		return Order{}, w.begin
	}
	w.row.State, w.row.Reason, w.row.Rev, w.row.Stamped = Refunding, reason, w.row.Rev+1, true
	return w.row, nil
}

// lateStore and lateInventory are the rest of that world; they share its trace.
type lateStore struct {
	PaymentStore
	w *lateWorld
}

func (b lateStore) ReviveLate(_ context.Context, claimed Order, epoch int64, _ Millis) (Order, error) {
	b.w.add("revive hold %d at epoch %d", claimed.Hold, epoch)
	if b.w.revive != nil {
		return Order{}, b.w.revive
	}
	b.w.row.State, b.w.row.CancelledAt, b.w.row.Rev, b.w.row.Stamped = Paid, 0, b.w.row.Rev+1, true
	return b.w.row, nil
}

func (b lateStore) Resolve(_ context.Context, _ ID, outcome PaymentOutcome) error {
	b.w.add("resolved: %s", outcome)
	return nil
}

type lateInventory struct {
	*fakeInventory
	w *lateWorld
}

func (l lateInventory) Hold(_ context.Context, h HoldRequest) (Verdict, error) {
	l.w.add("hold %d", h.Hold)
	return l.w.verdict, nil
}

// P8, I3, I6: what becomes of late money. A new hold number is claimed before anything is held, a hold goes back when
// it is certain that nothing was revived under it, and never when that is unknown; what is not resolved comes again.
func TestDecideAboutLateMoney(t *testing.T) {
	t.Parallel()
	const now, long = 1_000_000 + Millis(100*24*3600*1000), 1_000_000
	for name, c := range map[string]struct {
		change func(*lateWorld)
		again  bool // it must be tried again
		want   []string
	}{
		"free": {
			func(w *lateWorld) { w.verdict = VerdictReserved }, false,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "sell 1", "tell 1"},
		},
		"held by an attempt that died": {
			func(w *lateWorld) { w.verdict = VerdictRepeated }, false,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "sell 1", "tell 1"},
		},
		"sold out": {
			func(w *lateWorld) { w.verdict = VerdictSoldOut }, false,
			[]string{"claim", "hold 2", "refund R1: " + ReasonLateSoldOut, "return 1", "tell 1", "resolved: refunded"},
		},
		"limit": {
			func(w *lateWorld) { w.verdict = VerdictLimit }, false,
			[]string{"claim", "hold 2", "refund R1: " + ReasonLateLimit, "return 1", "tell 1", "resolved: refunded"},
		},
		"sale retired": {
			func(w *lateWorld) { w.verdict, w.closes = VerdictNotLoaded, long }, false,
			[]string{"claim", "hold 2", "refund R1: " + ReasonLateOver, "return 1", "tell 1", "resolved: refunded"},
		},
		"archived": {
			func(w *lateWorld) { w.claim = ErrArchived }, false,
			[]string{"claim", "refund R1: " + ReasonLateOver, "return 1", "tell 1", "resolved: refunded"},
		},
		"sale lost for a moment": {func(w *lateWorld) { w.verdict = VerdictNotLoaded }, true, []string{
			"claim", "hold 2",
		}},
		"rebuilding": {func(w *lateWorld) { w.verdict = VerdictRecovering }, true, []string{"claim", "hold 2"}},
		"resting for too long": {func(w *lateWorld) { w.verdict = VerdictCooldown }, true, []string{
			"claim", "hold 2",
		}},
		"a newer hold is open": {func(w *lateWorld) { w.verdict = VerdictOtherHash }, true, []string{
			"claim", "hold 2",
		}},
		"no unit in the database": {
			func(w *lateWorld) { w.verdict, w.revive = VerdictReserved, ErrPermanent }, false,
			[]string{
				"claim", "hold 2", "revive hold 2 at epoch 3", "return 1",
				"refund R1: " + ReasonLateSoldOut, "return 1", "tell 1", "resolved: refunded",
			},
		},
		"rebuilt meanwhile": {
			func(w *lateWorld) { w.verdict, w.revive = VerdictReserved, ErrStaleEpoch }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "return 1"},
		},
		"another attempt claimed later": {
			func(w *lateWorld) { w.verdict, w.revive = VerdictReserved, ErrNoRow }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "return 1"},
		},
		"commit unknown": {
			func(w *lateWorld) { w.verdict, w.revive = VerdictReserved, ErrTransient }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3"},
		},
		"resolved by another": {
			func(w *lateWorld) { w.claim, w.row.State = ErrNoRow, Refunding }, false,
			[]string{"claim", "resolved: refunded"},
		},
		"revived by another": {
			func(w *lateWorld) { w.claim, w.row.State, w.row.CancelledAt, w.row.ToldRev = ErrNoRow, Paid, 0, 1 }, false,
			[]string{"claim", "sell 1", "stamp 1", "tell 1"},
		},
		"being resolved by another": {
			func(w *lateWorld) { w.verdict, w.begin = VerdictSoldOut, ErrNoRow }, true,
			[]string{"claim", "hold 2", "refund R1: " + ReasonLateSoldOut},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &trace{}
			w := &lateWorld{trace: tr, closes: now, row: Order{
				ID: 1, Sale: 7, User: 9, State: Expired, Hold: 1, Rev: 2, ToldRev: 2, TradeNo: "T", CancelledAt: 5,
			}}
			c.change(w)
			cashier := &Cashier{
				Inventory: lateInventory{&fakeInventory{trace: tr, now: now}, w}, Orders: w, Sales: w,
				Payments: lateStore{w: w}, Refunds: lateRefunds{w: w},
				Effects: effectsOf(
					lateInventory{&fakeInventory{trace: tr, now: now}, w}, w, &fakeNotifier{trace: tr}),
			}
			err := cashier.resolve(context.Background(), w.row)
			if again := errors.Is(err, ErrTransient); again != c.again || (err == nil) == c.again {
				t.Errorf("%v; to be tried again: want %v", err, c.again)
			}
			if !slices.Equal(tr.steps, c.want) {
				t.Errorf("steps %v, want %v", tr.steps, c.want)
			}
		})
	}
}

type lateRefunds struct {
	RefundStore
	w *lateWorld
}

func (r lateRefunds) BeginRefund(
	ctx context.Context, order ID, from []OrderState, request, reason string, now Millis,
) (Order, error) {
	return r.w.BeginRefund(ctx, order, from, request, reason, now)
}
