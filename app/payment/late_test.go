package payment

import (
	"context"
	"errors"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// stockAndQueue is a fake of both ports of Redis.
type stockAndQueue interface {
	order.Stock
	order.Queue
}

// effectsOf returns effects that use the given fakes.
func effectsOf(inventory stockAndQueue, orders order.Store, notifier order.Notifier) *order.Effects {
	return &order.Effects{
		Stock: inventory, Queue: inventory, Notifier: notifier, Store: orders,
		PublishMarks: &order.PublishMarks{Store: orders},
	}
}

// stores is the database interface of this package and its effects.
type stores interface {
	Trades
	Refunds
	Orders
	order.Store
}

// unexpected has all other methods of the interfaces. They panic. It is embedded deeper than the fakes, so the methods
// of the fakes take precedence.
type unexpected struct{ depth2 }

type (
	depth2 struct{ depth3 }
	depth3 struct {
		stores
	}
)

// lateWorld has an order that was paid after its end: the row, and the results of the fake stores.
type lateWorld struct {
	stores
	*fakes.Trace
	row       shop.Order
	claimErr  error
	verdict   shop.Verdict
	reviveErr error
	beginErr  error
	closesAt  shop.Millis
}

func (w *lateWorld) Sale(context.Context, shop.ID) (shop.Sale, error) {
	return shop.Sale{ID: 7, Epoch: 3, ClosesAt: w.closesAt}, nil
}

func (w *lateWorld) Order(context.Context, shop.ID) (shop.Order, error) { return w.row, nil }

func (w *lateWorld) ClaimHold(context.Context, shop.ID, shop.OrderState) (shop.Order, error) {
	w.Add("claim")
	if w.claimErr != nil {
		return shop.Order{}, w.claimErr
	}
	w.row.Hold++
	return w.row, nil
}

func (w *lateWorld) Touch(_ context.Context, ids []shop.ID) ([]shop.Order, error) {
	w.Add("touch %d", len(ids))
	w.row.Touched = true
	return []shop.Order{w.row}, nil
}

func (w *lateWorld) BeginRefund(
	_ context.Context, order shop.ID, _ []shop.OrderState, reason string, _ shop.Millis,
) (shop.Order, error) {
	w.Add("refund %s: %s", order, reason)
	if w.beginErr != nil {
		return shop.Order{}, w.beginErr
	}
	w.row.State, w.row.Reason, w.row.Rev, w.row.Touched = shop.Refunding, reason, w.row.Rev+1, true
	return w.row, nil
}

func (w *lateWorld) ReviveLate(_ context.Context, claimed shop.Order, epoch int64, _ shop.Millis) (shop.Order, error) {
	w.Add("revive hold %d at epoch %d", claimed.Hold, epoch)
	if w.reviveErr != nil {
		return shop.Order{}, w.reviveErr
	}
	w.row.State, w.row.CancelledAt, w.row.Rev, w.row.Touched = shop.Paid, 0, w.row.Rev+1, true
	return w.row, nil
}

func (w *lateWorld) Resolve(_ context.Context, _ shop.ID, outcome Outcome) error {
	w.Add("resolved: %s", outcome)
	return nil
}

type lateInventory struct {
	*fakes.Redis
	w *lateWorld
}

func (l lateInventory) Hold(_ context.Context, h shop.HoldRequest) (shop.Verdict, error) {
	l.w.Add("hold %d", h.Hold)
	return l.w.verdict, nil
}

// P8, I3, I6: late money revives the order or is refunded. A new hold number is claimed before the hold. A hold is
// returned if the order was certainly not revived with it, and kept if the outcome is unknown. Unresolved payments are
// retried.
func TestLateMoneyRevivesOrRefundsOrder(t *testing.T) {
	t.Parallel()
	const now, longAgo = 1_000_000 + shop.Millis(100*24*3600*1000), 1_000_000
	for name, c := range map[string]struct {
		change    func(*lateWorld)
		wantRetry bool // a retry is required
		want      []string
	}{
		"units are free": {
			func(w *lateWorld) { w.verdict = shop.VerdictReserved }, false,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "sell 1", "publish 1"},
		},
		"units are held by an attempt that crashed": {
			func(w *lateWorld) { w.verdict = shop.VerdictRepeated }, false,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "sell 1", "publish 1"},
		},
		"sold out": {
			func(w *lateWorld) { w.verdict = shop.VerdictSoldOut }, false,
			[]string{"claim", "hold 2", "refund 1: " + shop.ReasonLateSoldOut, "return 1", "publish 1", "resolved: refunded"},
		},
		"limit reached": {
			func(w *lateWorld) { w.verdict = shop.VerdictLimit }, false,
			[]string{"claim", "hold 2", "refund 1: " + shop.ReasonLateLimit, "return 1", "publish 1", "resolved: refunded"},
		},
		"sale retired": {
			func(w *lateWorld) { w.verdict, w.closesAt = shop.VerdictNotLoaded, longAgo }, false,
			[]string{"claim", "hold 2", "refund 1: " + shop.ReasonLateOver, "return 1", "publish 1", "resolved: refunded"},
		},
		"sale not loaded for a moment": {func(w *lateWorld) { w.verdict = shop.VerdictNotLoaded }, true, []string{
			"claim", "hold 2",
		}},
		"partition recovering": {func(w *lateWorld) { w.verdict = shop.VerdictRecovering }, true, []string{"claim", "hold 2"}},
		"units in cooldown for too long": {func(w *lateWorld) { w.verdict = shop.VerdictCooldown }, true, []string{
			"claim", "hold 2",
		}},
		"a newer hold is open": {func(w *lateWorld) { w.verdict = shop.VerdictOtherHash }, true, []string{
			"claim", "hold 2",
		}},
		"no unit in the database": {
			func(w *lateWorld) { w.verdict, w.reviveErr = shop.VerdictReserved, shop.ErrPermanent }, false,
			[]string{
				"claim", "hold 2", "revive hold 2 at epoch 3", "return 1",
				"refund 1: " + shop.ReasonLateSoldOut, "return 1", "publish 1", "resolved: refunded",
			},
		},
		"partition recovered meanwhile": {
			func(w *lateWorld) { w.verdict, w.reviveErr = shop.VerdictReserved, shop.ErrStaleEpoch }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "return 1"},
		},
		"another attempt claimed later": {
			func(w *lateWorld) { w.verdict, w.reviveErr = shop.VerdictReserved, shop.ErrNoRow }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3", "return 1"},
		},
		"outcome of the commit unknown": {
			func(w *lateWorld) { w.verdict, w.reviveErr = shop.VerdictReserved, shop.ErrTransient }, true,
			[]string{"claim", "hold 2", "revive hold 2 at epoch 3"},
		},
		"refunded by another node": {
			func(w *lateWorld) { w.claimErr, w.row.State = shop.ErrNoRow, shop.Refunding }, false,
			[]string{"claim", "resolved: refunded"},
		},
		"revived by another node": {
			func(w *lateWorld) {
				w.claimErr, w.row.State, w.row.CancelledAt, w.row.PublishedRev = shop.ErrNoRow, shop.Paid, 0, 1
			}, false,
			[]string{"claim", "sell 1", "touch 1", "publish 1"},
		},
		"being resolved by another node": {
			func(w *lateWorld) { w.verdict, w.beginErr = shop.VerdictSoldOut, shop.ErrNoRow }, true,
			[]string{"claim", "hold 2", "refund 1: " + shop.ReasonLateSoldOut},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &fakes.Trace{}
			w := &lateWorld{Trace: tr, closesAt: now, row: shop.Order{
				ID: 1, Sale: 7, User: 9, State: shop.Expired, Hold: 1, Rev: 2, PublishedRev: 2, TradeNo: "T",
				CancelledAt: 5,
			}}
			c.change(w)
			payments := &PaymentService{
				Stock: lateInventory{&fakes.Redis{Trace: tr, At: now}, w}, Trades: w, Refunds: w, Orders: w,
				Sale: w.Sale,
				Effects: effectsOf(
					lateInventory{&fakes.Redis{Trace: tr, At: now}, w}, w, &fakes.Notifier{Trace: tr}),
			}
			err := payments.resolve(context.Background(), w.row)
			if retry := errors.Is(err, shop.ErrTransient); retry != c.wantRetry || (err == nil) == c.wantRetry {
				t.Errorf("got error %v, want a transient error: %v", err, c.wantRetry)
			}
			fakes.WantSteps(t, tr, c.want...)
		})
	}
}
