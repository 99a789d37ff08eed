package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// On every database, names that differ by an accent or a capital letter are different. Every change of the catalogue
// raises its version; a failed change does not.
func TestNamesDifferByAccentAndCase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		wantVersion := func(want int64) {
			t.Helper()
			if v, err := s.Catalogue().Version(ctx); err != nil || v != want {
				t.Errorf("got version %d (%v), want %d", v, err, want)
			}
		}
		wantVersion(0)
		must(t, s.Catalogue().AddCategories(ctx, []shop.Category{{ID: nextID(), Name: "cafe"}}))
		must(t, s.Catalogue().AddSlots(ctx, []shop.Slot{{ID: nextID(), OpensAt: 1, ClosesAt: 2}}))
		wantVersion(2)
		for _, name := range []string{"café", "Cafe", "cafe\u0301", "ｃａｆｅ"} {
			if err := s.Catalogue().AddCategories(ctx, []shop.Category{{ID: nextID(), Name: name}}); err != nil {
				t.Errorf("add category %q next to %q: got error %v", name, "cafe", err)
			}
		}
		wantErr(t, "the same name again",
			s.Catalogue().AddCategories(ctx, []shop.Category{{ID: nextID(), Name: "cafe"}}), shop.ErrPermanent)
		wantVersion(6)
	})
}

// P4: no column that identifies rows, or that a statement compares with a parameter, uses the server's default
// collation, which treats 'café' and 'cafe' as equal.
func TestKeysCompareBytes(t *testing.T) {
	t.Parallel()
	s := onMariaDB(t)
	rows, err := s.DB().QueryContext(kit.Context(t), "SELECT DISTINCT c.table_name, c.column_name, c.collation_name"+
		" FROM information_schema.columns c LEFT JOIN information_schema.statistics i"+
		" ON i.table_schema = c.table_schema AND i.table_name = c.table_name AND i.column_name = c.column_name"+
		" WHERE c.table_schema = DATABASE() AND c.table_name NOT LIKE 'bun%' AND c.collation_name NOT LIKE '%\\_bin'"+
		" AND (i.index_name IS NOT NULL OR c.column_name IN ('holder', 'trade_no', 'state', 'content_hash'))")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var table, column, collation string
		must(t, rows.Scan(&table, &column, &collation))
		t.Errorf("column %s.%s: got the collation %s, want a binary one", table, column, collation)
	}
	must(t, rows.Err())
}

func TestProductsAreListedByCategory(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		tea, pots := shop.Category{ID: nextID(), Name: "Tea"}, shop.Category{ID: nextID(), Name: "Pots & 壶"}
		must(t, s.Catalogue().AddCategories(ctx, []shop.Category{tea}))
		must(t, s.Catalogue().AddCategories(ctx, []shop.Category{pots}))
		got := val(s.Catalogue().Categories(ctx))(t)
		wantEqual(t, "(-want +got)", []shop.Category{tea, pots}, got)
		var all []shop.Product
		pictures := []shop.Image{{URL: "/b.svg", Alt: "second"}, {URL: "/a.svg", Alt: "first"}}
		for i := range 5 {
			all = append(all, shop.Product{
				ID: nextID(), Name: fmt.Sprintf("Pot %d", i), Category: pots.Name, CategoryID: pots.ID,
				ListPriceFen: 100,
				Images:       pictures[:1+i%2],
				Rules:        "one each", Description: `<p>It's a "pot" \ 茶壶</p>`,
			})
		}
		all[4].Category, all[4].CategoryID, all[4].Images = "", 0, []shop.Image{}
		must(t, s.Catalogue().AddProducts(ctx, all))
		one := val(s.Catalogue().Product(ctx, all[1].ID))(t)
		wantEqual(t, "product (-want +got)", all[1], one)
		for i := range all {
			all[i].Description, all[i].Rules = "", ""
		}
		for _, c := range []struct {
			category   shop.ID
			page, size int
			want       []shop.Product
			more       bool
		}{
			{0, 1, 3, all[:3], true},
			{0, 2, 3, all[3:], false},
			{0, 0, 5, all, false},
			{pots.ID, 2, 2, all[2:4], false},
			{tea.ID, 1, 10, []shop.Product{}, false},
			{0, 9, 10, []shop.Product{}, false},
		} {
			got, more, err := s.Catalogue().Products(ctx, c.category, c.page, c.size)
			must(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" || more != c.more {
				t.Errorf("category %s, page %d, more %v (-want +got):\n%s", c.category, c.page, more, diff)
			}
		}
		wantErr(t, "a missing product", errOf(s.Catalogue().Product(ctx, 4242)), shop.ErrNoRow)
		wantErr(t, "a product twice", s.Catalogue().AddProducts(ctx, all[:1]), shop.ErrPermanent)
	})
}

// Slots do not overlap. Adding the same schedule again changes nothing.
func TestSlotsDoNotOverlap(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		slot := func(from, to shop.Millis) shop.Slot { return shop.Slot{ID: nextID(), OpensAt: from, ClosesAt: to} }
		first, second := slot(1000, 2000), slot(2000, 3000)
		must(t, s.Catalogue().AddSlots(ctx, []shop.Slot{second, first}))
		must(t, s.Catalogue().AddSlots(ctx, []shop.Slot{slot(1000, 2000), slot(3000, 4000)}))
		for _, invalid := range [][]shop.Slot{
			{slot(1500, 1600)},
			{slot(500, 1001)},
			{slot(3999, 5000)},
			{slot(0, 9000)},
			{slot(1000, 1500)},
			{slot(6000, 7000), slot(6500, 7500)},
		} {
			wantErr(t, fmt.Sprintf("%v was added", invalid), s.Catalogue().AddSlots(ctx, invalid), &shop.Error{Code: shop.Conflict})
		}
		wantErr(t, "an empty window", s.Catalogue().AddSlots(ctx, []shop.Slot{slot(9000, 9000)}), &shop.Error{Code: shop.BadRequest})
		got := val(s.Catalogue().Slots(ctx, 1999, 2001))(t)
		wantEqual(t, "(-want +got)", []shop.Slot{first, second}, got)
		if all, err := s.Catalogue().Slots(ctx, 0, 10_000); err != nil || len(all) != 3 {
			t.Errorf("got %d slots (%v), want 3", len(all), err)
		}
		wantErr(t, "a missing slot", errOf(s.Catalogue().Slot(ctx, 4242)), shop.ErrNoRow)
	})
}

func TestSalesAreListedBySlotAndPhase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10, 20, 30)
		slot := val(h.Slot(h.ctx, h.slot))(h.t)
		if slot.Sales != 3 || slot.OpensAt != opens {
			t.Errorf("got the slot %+v, want 3 sales", slot)
		}
		ofSlot := val(h.SalesOfSlot(h.ctx, h.slot))(h.t)
		for i, sale := range ofSlot {
			want := val(h.Sale(h.ctx, h.sales[i]))(h.t)
			wantEqual(t, fmt.Sprintf("sale %d (-Sale +SalesOfSlot)", i), want, sale)
		}
		if s := ofSlot[0]; s.OpensAt != opens || s.ClosesAt != closes || s.Challenge != shop.ChallengeNone ||
			s.Version != 1 {
			t.Errorf("got the sale %+v, want the default values", s)
		}
		narrow := ofSlot[0]
		narrow.ID, narrow.OpensAt = nextID(), opens+1000
		h.must(h.AddSales(h.ctx, []shop.Sale{narrow}))
		for _, c := range []struct {
			phase      shop.Phase
			now        shop.Millis
			page, size int
			want       int
			more       bool
		}{
			{shop.Upcoming, opens - 1, 1, 3, 3, true},
			{shop.Upcoming, opens - 1, 2, 3, 1, false},
			{shop.Upcoming, opens, 1, 3, 1, false},
			{shop.Open, opens, 1, 10, 3, false},
			{shop.Open, closes - 1, 1, 10, 4, false},
			{shop.Open, closes, 1, 10, 0, false},
			{shop.Ended, closes, 1, 2, 2, true},
			{shop.Ended, closes, 3, 2, 0, false},
		} {
			got, more, err := h.SalesByPhase(h.ctx, c.phase, c.now, c.page, c.size)
			h.must(err)
			if len(got) != c.want || more != c.more {
				t.Errorf("%s at %d, page %d: got %d sales and more %v, want %d and %v", c.phase, c.now-opens, c.page,
					len(got), more, c.want, c.more)
			}
		}
		if ids, err := h.SaleIDs(h.ctx); err != nil || len(ids) != 4 {
			t.Errorf("got %d sale ids (%v), want 4", len(ids), err)
		}
	})
}

// A sale that does not fit its slot, its product or the partitions is rejected with a reason, together with the whole
// call.
func TestAddSalesRejectsInvalidSales(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		good := val(h.Sale(h.ctx, h.sales[0]))(h.t)
		for name, invalidate := range map[string]func(*shop.Sale){
			"slot":      func(s *shop.Sale) { s.Slot = 4242 },
			"product":   func(s *shop.Sale) { s.Product.ID = 4242 },
			"window":    func(s *shop.Sale) { s.ClosesAt = closes + 1 },
			"partition": func(s *shop.Sale) { s.Partition = 2 },
			"units":     func(s *shop.Sale) { s.Initial = -1 },
			"limit":     func(s *shop.Sale) { s.Limit = 0 },
			"id":        func(s *shop.Sale) { s.ID = 0 },
			"challenge": func(s *shop.Sale) { s.Challenge = "riddle" },
		} {
			fine, invalid := good, good
			fine.ID, invalid.ID = nextID(), nextID()
			invalidate(&invalid)
			wantErr(t, name, h.AddSales(h.ctx, []shop.Sale{fine, invalid}), &shop.Error{Code: shop.BadRequest})
			if _, err := h.Sale(h.ctx, fine.ID); !errors.Is(err, shop.ErrNoRow) {
				t.Errorf("%s: the valid sale of the same call was added (%v)", name, err)
			}
		}
	})
}
