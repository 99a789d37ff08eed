package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"stampede/app/ports"
	"stampede/app/shop"
)

const (
	second = shop.Millis(1000)
	minute = 60 * second
)

// book is a catalogue in memory: what the seed needs of one.
type book struct {
	ports.CatalogueStore
	categories []shop.Category
	products   map[shop.ID]shop.Product
	slots      []shop.Slot
	sales      []shop.Sale
}

func (b *book) Categories(context.Context) ([]shop.Category, error) { return b.categories, nil }

func (b *book) Product(_ context.Context, id shop.ID) (shop.Product, error) {
	if p, ok := b.products[id]; ok {
		return p, nil
	}
	return shop.Product{}, shop.ErrNoRow
}

func (b *book) Slots(_ context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	var found []shop.Slot
	for _, s := range b.slots {
		if s.OpensAt < to && s.ClosesAt > from {
			for _, sale := range b.sales {
				if sale.Slot == s.ID {
					s.Sales++
				}
			}
			found = append(found, s)
		}
	}
	return found, nil
}

func (b *book) AddCategories(_ context.Context, c []shop.Category) error {
	b.categories = append(b.categories, c...)
	return nil
}

func (b *book) AddProducts(_ context.Context, products []shop.Product) error {
	for _, p := range products {
		if _, ok := b.products[p.ID]; ok {
			return shop.ErrPermanent
		}
		b.products[p.ID] = p
	}
	return nil
}

func (b *book) AddSlots(_ context.Context, slots []shop.Slot) error {
next:
	for _, s := range slots {
		for _, there := range b.slots {
			if there.OpensAt == s.OpensAt && there.ClosesAt == s.ClosesAt {
				continue next
			}
			if there.OpensAt < s.ClosesAt && there.ClosesAt > s.OpensAt {
				return shop.Fail(shop.Conflict, "overlap")
			}
		}
		b.slots = append(b.slots, s)
	}
	return nil
}

func (b *book) AddSales(_ context.Context, sales []shop.Sale) error {
	b.sales = append(b.sales, sales...)
	return nil
}

func seeder() (*Seeder, *book) {
	b := &book{products: make(map[shop.ID]shop.Product)}
	next := shop.ID(1 << 40)
	return &Seeder{Catalogue: b, Editor: b, Partitions: 8, Mint: func() (shop.ID, error) { next++; return next, nil }},
		b
}

func TestProductsOnce(t *testing.T) {
	t.Parallel()
	s, b := seeder()
	for range 2 {
		if err := s.Products(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.products) != 12 || len(b.categories) != 4 {
		t.Errorf("%d products in %d categories", len(b.products), len(b.categories))
	}
	for _, p := range b.products {
		if p.Description == "" || p.Rules == "" || !strings.HasPrefix(p.Images[0].URL, "/products/") ||
			p.Images[0].Alt == "" {
			t.Errorf("%s is not complete", p.Name)
		}
	}
}

// TestRollingFromNothing: one slot has closed, one is open, the next opens 90 seconds after the start.
func TestRollingFromNothing(t *testing.T) {
	t.Parallel()
	now := 1_000_000*minute + 123
	start := now - 123
	plan := Rolling(nil, now, now+12*minute, RollingSlot)
	want := []Window{
		{start - 5*minute, start},
		{start, start + 90*second},
		{start + 90*second, start + 390*second},
		{start + 390*second, start + 690*second},
		{start + 690*second, start + 990*second},
	}
	if len(plan) != len(want) {
		t.Fatalf("%d windows: %v", len(plan), plan)
	}
	for i := range want {
		if plan[i] != want[i] {
			t.Errorf("window %d: %v, want %v", i, plan[i], want[i])
		}
	}
}

func TestRollingGoesOnWithoutGapOrOverlap(t *testing.T) {
	t.Parallel()
	now := 1_000_000 * minute
	for name, last := range map[string]shop.Millis{
		"long ago": now - 60*minute, "a moment ago": now - 500, "a minute ago": now - minute, "open": now + minute,
	} {
		existing := []shop.Slot{{ID: 1, OpensAt: last - 5*minute, ClosesAt: last}}
		plan := Rolling(existing, now, now+20*minute, RollingSlot)
		end := last
		for i, w := range plan {
			if w.Opens < end || (i > 0 && w.Opens != end) {
				t.Errorf("%s: window %d opens at %d, the one before closes at %d", name, i, w.Opens-now, end-now)
			}
			end = w.Closes
		}
		if end < now+20*minute {
			t.Errorf("%s: ends too early", name)
		}
	}
}

func TestKeeperFillsEverySlot(t *testing.T) {
	t.Parallel()
	s, b := seeder()
	if err := s.Products(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := 1_000_000 * minute
	k := &Keeper{Seeder: s, Slot: RollingSlot, Now: func() shop.Millis { return now }}
	for range 3 {
		if err := k.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		now += 7 * minute
	}
	// A crash between slots and sales leaves an empty slot, which the next look fills.
	b.slots = append(b.slots, shop.Slot{
		ID: 77, OpensAt: b.slots[len(b.slots)-1].ClosesAt, ClosesAt: b.slots[len(b.slots)-1].ClosesAt + 5*minute,
	})
	if err := k.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	perSlot := make(map[shop.ID]map[shop.ID]bool)
	for _, sale := range b.sales {
		if perSlot[sale.Slot] == nil {
			perSlot[sale.Slot] = make(map[shop.ID]bool)
		}
		perSlot[sale.Slot][sale.Product.ID] = true
		if sale.PriceFen <= 0 || sale.PriceFen >= sale.Product.ListPriceFen || sale.Cap < sale.Limit ||
			sale.Initial < 1 || sale.Partition > 7 {
			t.Errorf("sale %+v", sale)
		}
	}
	for _, slot := range b.slots {
		if len(perSlot[slot.ID]) < 6 {
			t.Errorf("slot %d has %d products", slot.ID, len(perSlot[slot.ID]))
		}
	}
}

func TestDailyFollowsTheShopsDay(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("shop", 8*3600)
	from := time.Date(2026, 11, 20, 23, 30, 0, 0, zone)
	plan := Daily(from, 2, []Hours{{8 * time.Hour, 10 * time.Hour}, {22 * time.Hour, 24 * time.Hour}})
	want := []string{"2026-11-20T08:00", "2026-11-20T22:00", "2026-11-21T08:00", "2026-11-21T22:00"}
	for i, w := range plan {
		if got := w.Opens.Time().In(zone).Format("2006-01-02T15:04"); got != want[i] ||
			w.Closes.Sub(w.Opens) != 2*time.Hour {
			t.Errorf("slot %d opens at %s for %v, want %s", i, got, w.Closes.Sub(w.Opens), want[i])
		}
	}
}

func TestBulkTellsProgress(t *testing.T) {
	t.Parallel()
	s, b := seeder()
	var told []int
	if err := s.Bulk(t.Context(), 4500, func(done int) { told = append(told, done) }); err != nil {
		t.Fatal(err)
	}
	if len(b.products) != 4500 || len(told) != 3 || told[2] != 4500 {
		t.Errorf("%d products, told %v", len(b.products), told)
	}
}
