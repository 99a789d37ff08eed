package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

const minute = shop.Millis(60_000)

// newSaleDraft makes a slot that opens in an hour, and a product for it.
func newSaleDraft(
	t *testing.T, s *store.Store, d *catalogueService,
) (shop.Slot, store.ProductRecord, backoffice.SaleDraft) {
	t.Helper()
	ctx := kit.Context(t)
	must(t, s.Partitions().EnsurePartitions(ctx, 3))
	slot, err := d.CreateSlot(ctx, operator(),
		backoffice.SlotDraft{OpensAt: noon + 60*minute, ClosesAt: noon + 180*minute})
	must(t, err)
	product := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot", ListPriceFen: 9900}))(t)
	return slot, product.ProductRecord, backoffice.SaleDraft{
		Slot: slot.ID, Product: product.ID, PriceFen: 4900, Stock: 100, Limit: 2,
	}
}

// A new sale takes missing fields from its slot, gets a partition, and is announced once it exists.
func TestCreateSaleFillsMissingFields(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		slot, product, draft := newSaleDraft(t, s, d)
		var received []shop.ID
		d.OnSale = func(_ context.Context, sales []shop.ID) { received = append(received, sales...) }
		partitions := make(map[int]int)
		for i := range 6 {
			made := val(d.CreateSale(ctx, operator(), draft))(t)
			if made.OpensAt != slot.OpensAt || made.ClosesAt != slot.ClosesAt || made.Cap != 12 || made.Limit != 2 ||
				made.Challenge != shop.ChallengeNone || made.Version != 1 || made.Phase != shop.Upcoming ||
				made.Loaded ||
				made.Product.Name != product.Name || made.Initial != 100 || made.Position != i+1 {
				t.Errorf("CreateSale: got %+v, want the defaults of the slot", made)
			}
			partitions[made.Partition]++
		}
		if len(partitions) != 3 || partitions[0] != 2 || partitions[1] != 2 {
			t.Errorf("got sales per partition %v, want 2, 2 and 2", partitions)
		}
		if len(received) != 6 {
			t.Errorf("got notifications of the sales %v, want 6 notifications", received)
		}
		if _, err := d.CreateSale(ctx, dryRun(operator()), draft); err != nil || len(received) != 6 {
			t.Errorf("a dry run: got error %v and %d notifications in total, want 6", err, len(received))
		}
		for q, want := range map[store.SalesQuery]int{
			{}: 6, {Slot: slot.ID}: 6, {Slot: 404}: 0, {Phase: shop.Upcoming}: 6, {Phase: shop.Open}: 0,
			{Phase: shop.Ended}: 0,
			{Text: "po"}:        6, {Text: "%"}: 0, {Text: received[2].String()}: 1, {Text: product.ID.String()}: 6,
			{Archived: true}: 0,
		} {
			q.Page, q.Size = 1, 100
			found, more, err := d.SaleRecords(ctx, q)
			if err != nil || len(found) != want || more {
				t.Errorf("query %+v: got %d sales, want %d (%v)", q, len(found), want, err)
			}
		}
	})
}

// Invalid terms are rejected, each with its own message.
func TestInvalidSalesAreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	ctx, d := kit.Context(t), serviceOf(s)
	slot, product, fine := newSaleDraft(t, s, d)
	gone := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Gone"}))(t)
	yes := true
	must(t, errOf(d.EditProduct(ctx, operator(), gone.ID, backoffice.ProductEdit{Version: 1, Archived: &yes})))
	for want, change := range map[string]func(s *backoffice.SaleDraft){
		"there is no slot":            func(s *backoffice.SaleDraft) { s.Slot = 404 },
		"there is no product 404":     func(s *backoffice.SaleDraft) { s.Product = 404 },
		"or it is archived":           func(s *backoffice.SaleDraft) { s.Product = gone.ID },
		"price_fen must be from 0.01": func(s *backoffice.SaleDraft) { s.PriceFen = 0 },
		"price_fen must":              func(s *backoffice.SaleDraft) { s.PriceFen = 1 << 60 },
		"stock must be from 1":        func(s *backoffice.SaleDraft) { s.Stock = 0 },
		"stock must be":               func(s *backoffice.SaleDraft) { s.Stock = -5 },
		"limit must be from 1":        func(s *backoffice.SaleDraft) { s.Limit = 0 },
		"cap must be from":            func(s *backoffice.SaleDraft) { s.Cap = 1 },
		"price_fen times limit": func(s *backoffice.SaleDraft) {
			s.PriceFen, s.Limit, s.Cap = 10_000_000_000, 2, 2
		},
		"the entry check must be": func(s *backoffice.SaleDraft) { s.Challenge = "riddle" },
		"closes_at must come after opens_at": func(s *backoffice.SaleDraft) {
			s.OpensAt, s.ClosesAt = slot.ClosesAt, slot.OpensAt
		},
		"must be within slot":                   func(s *backoffice.SaleDraft) { s.OpensAt = slot.OpensAt - 1000 },
		"opens_at and closes_at must be within": func(s *backoffice.SaleDraft) { s.ClosesAt = slot.ClosesAt + 1000 },
		"must be whole seconds":                 func(s *backoffice.SaleDraft) { s.OpensAt = slot.OpensAt + 1 },
	} {
		draft := fine
		change(&draft)
		if _, err := d.CreateSale(ctx, operator(), draft); code(err) != shop.BadRequest ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want BadRequest with %q", err, want)
		}
	}
	d.Now = func() shop.Millis { return slot.ClosesAt }
	if _, err := d.CreateSale(ctx, operator(), fine); code(err) != shop.BadRequest ||
		!strings.Contains(err.Error(), "in the past") {
		t.Errorf("a sale in an ended slot: got error %v, want BadRequest", err)
	}
	if found, _, err := d.Store.Sales().SaleRecords(
		ctx, store.SalesQuery{Page: 1, Size: 9},
	); err != nil || len(found) != 0 {
		t.Errorf("after the rejected drafts: got sales %v (%v), want none", found, err)
	}
	_ = product
}

// The editable fields depend on the phase of a sale. Other edits are rejected with a hint.
func TestEditableFieldsDependOnThePhase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		slot, _, draft := newSaleDraft(t, s, d)
		sale, err := d.CreateSale(ctx, operator(), draft)
		must(t, err)
		price, stock, limit, units, later, yes := int64(3900), int64(50), 3, int64(10), slot.OpensAt+10*minute, true
		sale, err = d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{
			Version: 1, PriceFen: &price, Stock: &stock, Limit: &limit, OpensAt: &later,
		})
		must(t, err)
		if sale.Version != 2 || sale.PriceFen != price || sale.Initial != stock || sale.Limit != limit ||
			sale.OpensAt != later {
			t.Errorf("EditSale: got %+v, want version 2 with the new values", sale)
		}
		wantCode(t, "an old version",
			errOf(d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 1})), shop.Conflict)
		must(t, s.Sales().MarkLoaded(ctx, sale.ID, 1, 2))
		wantRejected := func(when, want string, edit backoffice.SaleEdit) {
			t.Helper()
			edit.Version = sale.Version
			if _, err := d.EditSale(ctx, operator(), sale.ID, edit); code(err) != shop.WrongState ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: got error %v, want %q", when, err, want)
			}
		}
		edited := func(when string, edit backoffice.SaleEdit) {
			t.Helper()
			edit.Version = sale.Version
			if sale, err = d.EditSale(ctx, operator(), sale.ID, edit); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
		}
		wantRejected("loaded", "add or withdraw units", backoffice.SaleEdit{Stock: &units})
		wantRejected("loaded", "cannot be archived", backoffice.SaleEdit{Archived: &yes})
		edited("loaded", backoffice.SaleEdit{PriceFen: &units})
		d.Now = func() shop.Millis { return later - 9_000 }
		wantRejected("about to open", "opens within 10s, so its price_fen cannot change. End it early",
			backoffice.SaleEdit{PriceFen: &price})
		wantRejected("about to open", "its opens_at cannot change", backoffice.SaleEdit{OpensAt: &slot.OpensAt})
		d.Now = func() shop.Millis { return later + minute }
		more, work, place := 4, shop.ChallengeWork, 7
		edited("open", backoffice.SaleEdit{Limit: &more, Challenge: &work, Position: &place})
		if sale.Phase != shop.Open || sale.Limit != 4 || sale.Challenge != work || sale.Position != 7 {
			t.Errorf("edit of an open sale: got %+v", sale)
		}
		d.Now = func() shop.Millis { return slot.ClosesAt }
		wantRejected("over", "Copy it to another slot", backoffice.SaleEdit{Limit: &limit})
		place = 3
		edited("over", backoffice.SaleEdit{Position: &place})
	})
}

// A sale is loaded while its stock is edited: the loaded stock is the last committed one.
func TestStockEditAndLoadExcludeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		_, _, draft := newSaleDraft(t, s, d)
		for range 5 {
			sale := val(d.CreateSale(ctx, operator(), draft))(t)
			stock := int64(7)
			var loaded, edited atomic.Bool
			var g errgroup.Group
			g.Go(func() error {
				err := s.Sales().MarkLoaded(ctx, sale.ID, 1, 1)
				loaded.Store(err == nil)
				if errors.Is(err, shop.ErrStaleEpoch) {
					return nil
				}
				return err
			})
			g.Go(func() error {
				_, err := d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 1, Stock: &stock})
				edited.Store(err == nil)
				if code(err) == shop.WrongState {
					return nil
				}
				return err
			})
			must(t, g.Wait())
			if loaded.Load() == edited.Load() {
				t.Errorf("got loaded %v and edited %v, want exactly one of them", loaded.Load(), edited.Load())
			}
		}
	})
}

// An archived sale is not listed, cannot be loaded, and can be restored.
func TestArchivedSaleIsHiddenUntilRestored(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		slot, _, draft := newSaleDraft(t, s, d)
		sale, err := d.CreateSale(ctx, operator(), draft)
		must(t, err)
		yes, no, limit := true, false, 1
		sale, err = d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 1, Archived: &yes})
		must(t, err)
		if sales, err := s.Sales().SalesOfSlot(ctx, slot.ID); err != nil || len(sales) != 0 {
			t.Errorf("got visible sales %v (%v), want none", sales, err)
		}
		wantErr(t, "read the archived row", errOf(s.Sales().Sale(ctx, sale.ID)), shop.ErrNoRow)
		wantErr(t, "load the archived sale", s.Sales().MarkLoaded(ctx, sale.ID, 1, sale.Version), shop.ErrStaleEpoch)
		if slots, err := d.SlotCalendar(ctx, slot.OpensAt, slot.ClosesAt); err != nil || slots[0].Sales != 0 {
			t.Errorf("got the calendar %v (%v), want no sale in it", slots, err)
		}
		_, err = d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 2, Limit: &limit})
		if code(err) != shop.WrongState {
			t.Errorf("edit of an archived sale: got error %v, want WrongState", err)
		}
		must(t, errOf(d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 2, Archived: &no})))
		if _, err := s.Sales().Sale(ctx, sale.ID); err != nil {
			t.Error(err)
		}
	})
}

// Removing a slot with only archived sales archives it. It is not in the calendar, its window is free, and its sales
// can be read and copied, but not restored. A slot with other sales stays.
func TestRemovedSlotKeepsItsArchivedSales(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		slot, _, draft := newSaleDraft(t, s, d)
		sale, err := d.CreateSale(ctx, operator(), draft)
		must(t, err)
		wantCode(t, "the store removes a slot with a sale", errOf(s.Catalogue().RemoveSlot(ctx, slot.ID)), shop.WrongState)
		wantCode(t, "a slot with a sale is removed",
			errOf(d.RemoveSlot(ctx, operator(), slot.ID)), shop.WrongState)
		yes, no := true, false
		sale, err = d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: 1, Archived: &yes})
		must(t, err)
		must(t, errOf(d.RemoveSlot(ctx, dryRun(operator()), slot.ID)))
		if slots, err := s.Catalogue().Slots(ctx, slot.OpensAt, slot.ClosesAt); err != nil || len(slots) != 1 {
			t.Errorf("after a dry run: got slots %v (%v), want one", slots, err)
		}
		must(t, errOf(d.RemoveSlot(ctx, operator(), slot.ID)))
		if slots, err := s.Catalogue().Slots(ctx, slot.OpensAt, slot.ClosesAt); err != nil || len(slots) != 0 {
			t.Errorf("got the calendar %v (%v), want no sale in it", slots, err)
		}
		wantErr(t, "read the archived row", errOf(s.Catalogue().Slot(ctx, slot.ID)), shop.ErrNoRow)
		wantCode(t, "the slot is removed again", errOf(d.RemoveSlot(ctx, operator(), slot.ID)), shop.NotFound)
		wantCode(t, "a sale is added to the removed slot", errOf(d.CreateSale(ctx, operator(), draft)), shop.BadRequest)
		read, err := d.SaleRecord(ctx, sale.ID)
		if err != nil || read.Slot.ID != slot.ID || read.Slot.OpensAt != slot.OpensAt || read.ArchivedAt == 0 {
			t.Errorf("got the archived sale %+v (%v), want it with its former slot", read, err)
		}
		_, err = d.EditSale(ctx, operator(), sale.ID, backoffice.SaleEdit{Version: sale.Version, Archived: &no})
		if code(err) != shop.WrongState {
			t.Errorf("restore a sale of a removed slot: got error %v, want WrongState", err)
		}
		next, err := d.CreateSlot(
			ctx, operator(), backoffice.SlotDraft{OpensAt: slot.OpensAt, ClosesAt: slot.ClosesAt},
		)
		must(t, err)
		copied, err := d.CopySale(ctx, operator(), sale.ID, backoffice.SaleCopy{Slot: next.ID})
		if err != nil || copied.Slot.ID != next.ID || copied.ArchivedAt != 0 {
			t.Errorf("CopySale: got %+v (%v), want an unarchived sale in the new slot", copied, err)
		}
		rows, err := s.Journal().JournalFrom(ctx, 1, 100)
		must(t, err)
		if !slices.ContainsFunc(rows, func(e journal.Entry) bool { return e.Kind == "slot.archive" }) {
			t.Error("the journal has no row for the archived sale")
		}
	})
}

// A copy equals the other sale except for the given fields, and opens with its own slot.
func TestCopySaleChangesOnlyGivenFields(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	ctx, d := kit.Context(t), serviceOf(s)
	slot, _, draft := newSaleDraft(t, s, d)
	draft.Challenge, draft.Cap = shop.ChallengeWork, 5
	sale := val(d.CreateSale(ctx, operator(), draft))(t)
	next, err := d.CreateSlot(ctx, operator(),
		backoffice.SlotDraft{OpensAt: slot.ClosesAt, ClosesAt: slot.ClosesAt + 60*minute})
	must(t, err)
	price := int64(100)
	made := val(d.CopySale(ctx, operator(), sale.ID, backoffice.SaleCopy{Slot: next.ID, PriceFen: &price}))(t)
	if made.ID == sale.ID || made.Slot.ID != next.ID || made.OpensAt != next.OpensAt || made.PriceFen != 100 ||
		made.Initial != 100 ||
		made.Challenge != shop.ChallengeWork || made.Cap != 5 || made.Version != 1 {
		t.Errorf("CopySale: got %+v, want the new slot and price and the other fields copied", made)
	}
	wantCode(t, "a copy of a missing sale",
		errOf(d.CopySale(ctx, operator(), 404, backoffice.SaleCopy{Slot: next.ID})), shop.NotFound)
	wantCode(t, "a copy without a slot",
		errOf(d.CopySale(ctx, operator(), sale.ID, backoffice.SaleCopy{})), shop.BadRequest)
}
