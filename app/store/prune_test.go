package store_test

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// pruneDay is a day after closedAt.
var pruneDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// newOldShop returns a shop with one sale that closed long ago, and n finished orders in each of the months.
func newOldShop(t *testing.T, s *store.Store, n int, months ...time.Month) (h *testShop, all []shop.ID) {
	t.Helper()
	h = newShop(t, s, 100)
	for _, month := range months {
		for range n {
			o := h.order(h.sales[0], 1)
			o.CreatedAt = shop.MillisOf(time.Date(2026, month, 2, 0, 0, 0, 0, time.UTC))
			h.insert(o)
			h.wantReceived(payment.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen,
			}, payment.OutcomeTaken, shop.Paid)
			h.ship(shippingOptions, parcel(o.ID))
			_, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User, opens+90)
			h.must(err)
			all = append(all, o.ID)
		}
	}
	h.settleAll()
	h.closeLongAgo(h.sales[0])
	return h, all
}

// pruneAll deletes all orders that may be deleted, in steps of limit orders.
func (s *testShop) pruneAll(ctx context.Context, before shop.Millis, limit int) (pruned int, err error) {
	for after := shop.ID(0); ; {
		found, last, err := s.PrunableOrders(ctx, before, after, limit)
		if err != nil || last == 0 {
			return pruned, err
		}
		n, err := s.PruneOrders(ctx, before, ids(found))
		if pruned += n; err != nil {
			return pruned, err
		}
		after = last
	}
}

// wantBalance checks that the sale balances and that each of n orders counts once with its money, as a row or in the
// sums.
func (s *testShop) wantBalance(when string, n int64) {
	s.t.Helper()
	t := s.totals(s.sales[0])
	if t.Orders != n || t.SoldUnits != n || t.Taken != n || t.WithoutPayment != 0 {
		s.t.Errorf("%s: got totals %+v, want %d orders", when, t, n)
	}
	sums, err := s.SumSale(s.ctx, s.sales[0], opens, opens+120_000)
	s.must(err)
	if sums.Money.PaidFen != n*4900 {
		s.t.Errorf("%s: got %d fen paid, want %d", when, sums.Money.PaidFen, n*4900)
	}
}

// I1, I5, P8: the orders are deleted with their parcels, postings, trades and states. Payments and sums stay, and a
// repeated notification of a deleted order is recognised.
func TestPruneKeepsPaymentsAndSums(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h, all := newOldShop(t, s, 4, time.February)
		kept := all[3]
		h.setChangedAt(kept, shop.MillisOf(pruneDay))
		before := h.totals(h.sales[0])
		pruned, err := h.pruneAll(h.ctx, shop.MillisOf(pruneDay), 2)
		h.must(err)
		if pruned != 3 {
			t.Errorf("deleted %d orders, want 3", pruned)
		}
		for table, want := range map[string]int{"orders": 1, "shipments": 1, "order_states": 1, "payments": 4} {
			if n := h.countRows(table); n != want {
				t.Errorf("%d rows are left in %s, want %d", n, table, want)
			}
		}
		if found := val(h.OrdersByID(h.ctx, all))(t); len(found) != 1 || found[0].ID != kept {
			t.Errorf("found the orders %v, want %s", ids(found), kept)
		}
		h.wantBalance("pruned", 4)
		if after := h.totals(h.sales[0]); after.MaxSeq != before.MaxSeq || after.MaxTicket != before.MaxTicket {
			t.Errorf("got totals %+v, want the maxima of %+v", after, before)
		}
		if sums := val(h.SumSale(h.ctx, h.sales[0], opens, opens+120_000))(t); sums.Pruned != 3 {
			t.Errorf("got sums %+v, want 3 deleted orders", sums)
		}
		h.wantReceived(payment.Trade{
			Order: all[0], No: "T" + all[0].String(), State: payment.TradePaid, AmountFen: 4900,
		}, payment.OutcomeTaken, "")
	})
}

// I1, P8: an order that can still change, or whose sale is young or in Redis, is not deleted.
func TestOnlySettledOrdersOfOldSalesArePruned(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100, 10, 10)
		sale := h.sales[0]
		unpaid := h.order(sale, 1)
		h.insert(unpaid)
		h.paid(sale, 1)
		shipped := h.paid(sale, 1)
		h.ship(shippingOptions, parcel(shipped.ID))
		refunding := h.paid(sale, 1)
		h.must(errOf(h.DecideRefund(h.ctx,
			payment.RefundDecision{Order: refunding.ID, By: 7, Approved: true, At: opens})))
		late := h.opened(sale, 1)
		h.must(errOf(h.EndTraded(h.ctx, []shop.ID{late.ID}, shop.Expired, payBy)))
		_, outcome, err := h.Receive(h.ctx, payment.Trade{
			Order: late.ID, No: "L" + late.ID.String(), State: payment.TradePaid, AmountFen: late.AmountFen,
		}, payBy+1)
		h.must(err)
		if outcome != payment.OutcomeLate {
			t.Fatalf("payment of an expired order: got outcome %s", outcome)
		}
		unpublished, unposted, queried, unwritten, young, stuck := h.cancelled(sale), h.finished(sale),
			h.cancelled(sale),
			h.finished(sale), h.cancelled(sale), h.refunded(sale)
		h.finished(h.sales[1]) // its sale is in Redis
		h.finished(h.sales[2]) // its sale is young
		settled := h.cancelled(sale)
		h.settleAll()
		for order, statement := range map[shop.ID]string{
			unpublished.ID: "UPDATE orders SET unpublished_since = 5, changed_at = changed_at WHERE id = ?",
			unposted.ID:    "INSERT INTO outbox (order_id, rev, state, at, next_at) VALUES (?, 2, 'paid', 1, 5)",
			unwritten.ID:   "UPDATE shipments SET mail_at = 5 WHERE order_id = ?",
			stuck.ID:       "UPDATE refunds SET state = 'stuck' WHERE order_id = ?",
			queried.ID:     "INSERT INTO trades (order_id, opened_at, expires_at, check_at) VALUES (?, 1, 2, 3)",
		} {
			h.must(errOf(h.DB().ExecContext(h.ctx, statement, order)))
		}
		before := shop.MillisOf(pruneDay)
		h.setChangedAt(young.ID, before)
		h.closeLongAgo(sale)
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", closedAt, h.sales[1])))
		h.must(h.MarkRetired(h.ctx, h.sales[2], h.epoch))
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", before, h.sales[2])))
		var all []shop.ID
		h.must(h.DB().NewRaw("SELECT id FROM orders").Scan(h.ctx, &all))
		if n, err := h.PruneOrders(h.ctx, before, all); err != nil || n != 1 {
			t.Errorf("deleted %d orders (%v), want 1", n, err)
		}
		var left []shop.ID
		h.must(h.DB().NewRaw("SELECT id FROM orders").Scan(h.ctx, &left))
		if len(left) != len(all)-1 || slices.Contains(left, settled.ID) {
			t.Errorf("%v are left of %v, want all but %s", left, all, settled.ID)
		}
	})
}

// P8: a late payment races with the deletion of its order. Either the order stays until the payment is settled, or the
// payment is entered as that of an unknown order.
func TestLatePaymentAndPruneExcludeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		var late []shop.Order
		for range 8 {
			o := h.order(h.sales[0], 1)
			h.insert(o)
			h.must(errOf(h.Expire(h.ctx, []shop.ID{o.ID}, payBy+1)))
			late = append(late, o)
		}
		h.settleAll()
		h.closeLongAgo(h.sales[0])
		outcomes := make(chan payment.Outcome, len(late))
		for i := range late {
			go func() {
				_, outcome, err := h.Receive(h.ctx, payment.Trade{
					Order: late[i].ID, No: "L" + late[i].ID.String(), State: payment.TradePaid,
					AmountFen: late[i].AmountFen,
				}, payBy+1)
				if err != nil {
					t.Error(err)
				}
				outcomes <- outcome
			}()
		}
		pruned, err := h.pruneAll(h.ctx, shop.MillisOf(pruneDay), 1)
		h.must(err)
		found := map[payment.Outcome]int{}
		for range late {
			found[<-outcomes]++
		}
		if left := h.countRows("orders"); found[payment.OutcomeLate] != left ||
			found[payment.OutcomeUnknownOrder] != pruned || left+pruned != len(late) {
			t.Errorf("got outcomes %v, %d remaining orders and %d deleted orders", found, left, pruned)
		}
	})
}

// pruner returns the command without its output.
func (s *testShop) pruner() *backoffice.Pruner {
	return &backoffice.Pruner{Store: s.Store, Zone: time.UTC, Progress: func(string) {}}
}

// exportedIDs returns the ids in all files of the folder, and checks that the files contain no personal data and are
// only for their owner.
func (s *testShop) exportedIDs(folder string) (all []shop.ID) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	s.must(err)
	for _, path := range paths {
		f, err := os.Open(path)
		s.must(err)
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
			s.t.Errorf("%s: mode %v (%v), want 0600", path, info.Mode(), err)
		}
		unpacked, err := gzip.NewReader(f)
		s.must(err)
		text, err := io.ReadAll(unpacked)
		s.must(err)
		for _, personal := range []string{"王小明", "13800000000", "Road", "SF-"} {
			if strings.Contains(string(text), personal) {
				s.t.Errorf("%s contains %q", path, personal)
			}
		}
		lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		s.must(err)
		for _, line := range lines[1:] {
			id, err := shop.ParseID(line[0])
			s.must(err)
			all = append(all, id)
		}
	}
	return all
}

// I1, I5: the command writes files and the journal before it deletes their orders. The test kills it at each of its
// queries. The sale then balances, each order is a row or in exactly one file, and the same command continues.
func TestPruneContinuesAfterEachCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &queryKiller{}
		s.HookQueries(d)
		h, all := newOldShop(t, s, 2, time.January, time.February)
		folder := filepath.Join(t.TempDir(), "orders")
		dry, err := h.pruner().Prune(h.ctx, dryRun(operatorWithKey("prune-dry-run")), pruneDay, folder)
		h.must(err)
		if len(dry.Files) != 2 || dry.Files[0].Orders != 2 || dry.Files[1].PaidFen != 9800 || h.countRows("journal") != 0 {
			t.Errorf("dry run: got %+v and %d journal rows", dry, h.countRows("journal"))
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a dry run created the folder (%v)", err)
		}
		var result backoffice.Pruned
		killed := 0
		d.killAtEach(h, func(ctx context.Context) (err error) {
			result, err = h.pruner().Prune(ctx, operatorWithKey("prune-spring"), pruneDay, folder)
			return err
		}, func(killedAt string, err error) {
			if killedAt == "" {
				h.must(err)
				return
			}
			killed++
			h.wantBalance("died at "+killedAt, 4)
			exported := h.exportedIDs(folder)
			left := val(h.OrdersByID(h.ctx, all))(t)
			if len(left) < 4 && (h.countRows("journal") != 1 || len(exported) != 4) {
				t.Fatalf("killed at %s: %d orders are left, %d are in files", killedAt, len(left), len(exported))
			}
			slices.Sort(exported)
			if len(slices.Compact(exported)) != len(exported) {
				t.Fatalf("killed at %s: files contain orders twice: %v", killedAt, exported)
			}
		})
		exported := h.exportedIDs(folder)
		slices.Sort(exported)
		wantEqual(t, "exported orders (-want +got)", all, exported)
		if killed < 5 || h.countRows("orders") != 0 || h.countRows("journal") != 1 {
			t.Errorf("killed %d times; got %+v, %d orders and %d journal rows", killed, result, h.countRows("orders"),
				h.countRows("journal"))
		}
		again, err := h.pruner().Prune(h.ctx, operatorWithKey("prune-again"), pruneDay, folder)
		if err != nil || len(again.Files) != 0 || h.countRows("journal") != 1 {
			t.Errorf("without orders to delete: got %+v (%v) and %d journal rows", again, err, h.countRows("journal"))
		}
	})
}

// I1: no order is deleted whose file is not the one in the journal, and none within the refund window.
func TestPruneDeletesOnlyExportedOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &queryKiller{}
		s.HookQueries(d)
		h, _ := newOldShop(t, s, 2, time.February)
		folder, actor := t.TempDir(), operatorWithKey("prune-february")
		young := h.clock().At.Time().Add(-91 * 24 * time.Hour)
		if _, err := h.pruner().Prune(h.ctx, actor, young, folder); shop.AsError(err).Code != shop.BadRequest {
			t.Errorf("91 days ago: got %v, want %s", err, shop.BadRequest)
		}
		p := h.pruner()
		p.Progress = func(step string) { // the file is complete: change it before the deletion
			path := filepath.Join(folder, strings.Split(step, ":")[0])
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			h.must(err)
			z := gzip.NewWriter(f)
			h.must(errors.Join(errOf(io.WriteString(z, "\n")), z.Close(), f.Close()))
		}
		_, err := p.Prune(h.ctx, actor, pruneDay, folder)
		if err == nil || !strings.Contains(err.Error(), "has changed since its checksum") || h.countRows("orders") != 2 {
			t.Errorf("a changed file: got %v and %d orders, want an error and 2 orders", err, h.countRows("orders"))
		}
		paths, err := filepath.Glob(filepath.Join(folder, "orders-2026-02-*"))
		h.must(err)
		h.must(os.Remove(paths[0]))
		h.must(os.WriteFile(filepath.Join(folder, "orders-2026-02-11111111.csv.gz"), []byte("no gzip"), 0o600))
		if _, err = h.pruner().Prune(h.ctx, operatorWithKey("prune-broken"), pruneDay, folder); err == nil ||
			h.countRows("orders") != 2 {
			t.Errorf("a broken file: got %v and %d orders, want an error and 2 orders", err, h.countRows("orders"))
		}
	})
}
