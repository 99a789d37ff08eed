package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"

	"stampede/app/archive"
	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// archiver returns an archiver with the minimum delays.
func (h *testShop) archiver() *archive.Archiver {
	return &archive.Archiver{
		Store: h.Store, PartitionFigures: kit.NoBacklog, ArchiveAfter: 48 * time.Hour, PersonalAfter: 48 * time.Hour,
	}
}

// makeArchivable makes all rows old enough for the archive.
func (h *testShop) makeArchivable() {
	h.t.Helper()
	h.clearPending()
	h.setChangedAtWhere("id > ?", "?", h.clock().At.Add(-1000*time.Hour), 0)
}

// wantEachOnce checks that each order is in one table, and that the guards match (I1, I5).
func (h *testShop) wantEachOnce(all []shop.ID) {
	h.t.Helper()
	var found []shop.ID
	const both = "SELECT id FROM orders UNION ALL SELECT id FROM orders_archive ORDER BY id"
	h.must(h.DB().NewRaw(both).Scan(h.ctx, &found))
	slices.Sort(all)
	if !slices.Equal(found, all) {
		h.t.Fatalf("got %d rows of %d orders:\n%v\n%v", len(found), len(all), found, all)
	}
	for _, sale := range h.sales {
		t := h.totals(sale)
		if t.Taken != t.HeldUnits+t.SoldUnits+t.RefundedUnits || t.Duplicates > 0 || len(t.OverLimit) > 0 {
			h.t.Fatalf("sale %s does not balance: %+v", sale, t)
		}
	}
}

// queryKiller cancels a context at a query, before the query reaches the server. The database must then end the
// transaction, as after the crash of a process.
type queryKiller struct {
	at   atomic.Int64 // number of queries until the kill; 0: disabled
	die  context.CancelFunc
	last string
}

func (d *queryKiller) BeforeQuery(ctx context.Context, q *bun.QueryEvent) context.Context {
	if d.at.Load() > 0 && d.at.Add(-1) == 0 {
		d.last = q.Query
		d.die()
	}
	return ctx
}

func (d *queryKiller) AfterQuery(context.Context, *bun.QueryEvent) {}

// I1: the test kills a run at each of its statements. The next run continues, and each order is always in exactly one
// table.
func TestArchiverContinuesAfterEachCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &queryKiller{}
		s.HookQueries(d)
		h := newShop(t, s, 50, 50)
		var all []shop.ID
		for range 3 {
			for _, sale := range h.sales {
				all = append(all, h.finished(sale).ID, h.refunded(sale).ID, h.cancelled(sale).ID)
			}
		}
		all = append(all, h.paid(h.sales[0], 1).ID)
		h.makeArchivable()
		for _, sale := range h.sales {
			h.closeLongAgo(sale)
		}
		for n := int64(1); ; n++ {
			ctx, die := context.WithCancel(h.ctx)
			d.die = die
			d.at.Store(n)
			ran, err := h.archiver().RunOnce(ctx)
			done := d.at.Swap(0) > 0 // the run had fewer statements
			die()
			if done && err == nil {
				break
			}
			if err == nil && ran.Postpone == "" && !strings.HasPrefix(d.last, "DO RELEASE") {
				t.Errorf("killed at statement %d, %s: got no error", n, d.last)
			}
			h.wantEachOnce(all)
			if n > 1000 {
				t.Fatal("the loop does not end")
			}
		}
		if live, archived := h.countRows("orders"), h.countRows("orders_archive"); live != 1 || archived != len(all)-1 {
			t.Errorf("got %d rows in orders and %d in the archive, want 1 and %d", live, archived, len(all)-1)
		}
		h.must(errOf(h.DB().ExecContext(h.ctx, "DELETE FROM orders"))) // the order that still has to be shipped
		h.wantNoPersonalData("after all runs")
	})
}

// I1, I5, P8: orders are paid late, refunded, shipped and received while they move. None is lost or duplicated, and the
// guards match at each check.
func TestOrdersChangedDuringAMoveAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 500)
		sale := h.sales[0]
		var all, late, paid []shop.Order
		for range 12 {
			o := h.opened(sale, 1)
			late, all = append(late, o), append(all, o)
			p := h.paid(sale, 1)
			paid, all = append(paid, p), append(all, p)
			all = append(all, h.finished(sale), h.cancelled(sale))
		}
		h.must(errOf(h.EndTraded(h.ctx, ids(late), shop.Expired, payBy)))
		h.makeArchivable()
		h.closeLongAgo(sale)

		var g, moving errgroup.Group
		stop := make(chan struct{})
		moving.Go(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				now := shop.Millis(1) << 42 // all orders are old enough
				step := store.ArchiveStep{Sale: sale, Limit: 7, ChangedBefore: now, Now: now}
				for {
					done, err := h.MoveOrders(h.ctx, step)
					if err != nil {
						return err
					}
					if done.Checked == 0 {
						break
					}
					step.After = done.Last
				}
				if _, err := h.PlanArchive(h.ctx, sale, now); err != nil {
					return err
				}
				if _, _, err := h.BlankOrders(h.ctx, sale, 0, 7); err != nil {
					return err
				}
				t, err := h.SaleTotals(h.ctx, sale)
				if err != nil {
					return err
				}
				if t.Taken != t.HeldUnits+t.SoldUnits+t.RefundedUnits || t.Orders != int64(len(all)) {
					return errors.New("the sale does not balance in the middle")
				}
			}
		})
		for i := range late {
			g.Go(func() error { return h.payLate(&late[i]) })
			g.Go(func() error { return h.sendOrRefund(&paid[i], i%2 == 0) })
			g.Go(func() error { return h.settleAll(all) })
		}
		h.must(g.Wait())
		close(stop)
		h.must(moving.Wait())
		h.wantEachOnce(ids(all))
		for i := range late {
			if got := h.read(late[i].ID); got.State != shop.Refunded || got.Rev != 4 {
				t.Errorf("late order %s: got state %s at rev %d", got.ID, got.State, got.Rev)
			}
		}
		h.clearPending()
		h.archive(sale, 10)
		if remaining := h.countRows("orders"); remaining != 0 {
			t.Errorf("got %d remaining orders, want 0", remaining)
		}
		h.wantTaken(sale, 24)
	})
}

// payLate receives a payment for an ended order, and refunds it.
func (h *testShop) payLate(o *shop.Order) error {
	trade := payment.Trade{Order: o.ID, No: "L" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen}
	for range 2 {
		if _, outcome, err := h.Receive(h.ctx, trade, payBy+1); err != nil || outcome != payment.OutcomeLate {
			return errors.Join(err, errors.New("the outcome of a late payment is "+string(outcome)))
		}
	}
	ended := []shop.OrderState{shop.Expired}
	_, err := h.BeginRefund(h.ctx, o.ID, ended, shop.ReasonLateOver, payBy)
	if err == nil {
		err = h.Resolve(h.ctx, o.ID, payment.OutcomeRefunded)
	}
	if err == nil {
		_, err = h.FinishRefund(h.ctx, o.ID, payBy)
	}
	return err
}

// sendOrRefund ships and finishes a paid order, or refunds it.
func (h *testShop) sendOrRefund(o *shop.Order, send bool) error {
	if !send {
		_, err := h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens})
		if err == nil {
			_, err = h.FinishRefund(h.ctx, o.ID, opens)
		}
		return err
	}
	_, err := h.Ship(h.ctx, shippingOptions, []store.Parcel{parcel(o.ID)})
	if err == nil {
		_, _, err = h.ConfirmReceipt(h.ctx, o.ID, o.User, opens+90)
	}
	return err
}

// settleAll publishes and posts all due rows, and reads some orders. Each of these orders must exist.
func (h *testShop) settleAll(all []shop.Order) error {
	for range 5 {
		unpublished, err := h.Unpublished(h.ctx, shop.Millis(1)<<42, 100)
		if err != nil {
			return err
		}
		published := make([]*shop.Order, len(unpublished))
		for i := range unpublished {
			published[i] = &unpublished[i]
		}
		if err := h.MarkPublished(h.ctx, published); err != nil {
			return err
		}
		posted, err := h.ClaimOutbox(h.ctx, shop.Millis(1)<<42, 100)
		if err != nil {
			return err
		}
		if err := h.MarkSent(h.ctx, posted, shop.Millis(1)<<42, 1); err != nil {
			return err
		}
		some := ids(all)
		rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		rows, err := h.OrdersByID(h.ctx, some[:10])
		if err != nil || len(rows) != 10 {
			return errors.Join(err, errors.New("orders are missing"))
		}
		if _, err := h.Order(h.ctx, some[11]); err != nil {
			return err
		}
	}
	return nil
}

// No order is moved shortly before or after an opening, while many reservations wait for rows, or if both delays are 0.
func TestArchiverPausesAroundOpeningsAndUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 50, 50)
		h.finished(h.sales[0])
		h.makeArchivable()
		h.closeLongAgo(h.sales[0])
		run := func(a *archive.Archiver, moved int64, reason string) {
			t.Helper()
			done, err := a.RunOnce(h.ctx)
			if err != nil || done.Moved != moved || !strings.Contains(done.Postpone, reason) ||
				(reason == "") != (done.Postpone == "") {
				t.Errorf("got %+v (%v), want %d moved orders and the reason %q", done, err, moved, reason)
			}
		}
		never := h.archiver()
		never.ArchiveAfter, never.PersonalAfter = 0, 0
		run(never, 0, "")
		waiting := h.archiver()
		waiting.PartitionFigures = func(context.Context) ([]board.PartitionFigures, error) {
			return []board.PartitionFigures{{Pending: 5000}}, nil
		}
		run(waiting, 0, "5000 reservations")
		setOpening := func(at shop.Millis) {
			h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET opens_at = ? WHERE id = ?", at, h.sales[1])))
		}
		setOpening(h.clock().At.Add(time.Minute))
		run(h.archiver(), 0, "opens within minutes")
		setOpening(closedAt)
		run(h.archiver(), 1, "")
		state, err := (&archive.Service{Archiver: h.archiver()}).ArchiveState(h.ctx)
		if err != nil || state.Orders != 1 || state.SalesToMove != 0 || state.ArchiveAfter != "48h0m0s" ||
			state.PaidLeft != 0 || len(state.Months) != 1 || state.Months[0].PaidFen != 4900 {
			t.Errorf("ArchiveState: got %+v (%v)", state, err)
		}
	})
}
