package demo

import (
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

const (
	second = shop.Millis(1000)
	minute = 60 * second
)

func seeder(t *testing.T) *Seeder {
	t.Helper()
	return &Seeder{Store: kit.SQLite(t), Partitions: 8, Mint: func() (shop.ID, error) { return kit.NewID(), nil }}
}

func TestProductsAreAddedOnce(t *testing.T) {
	t.Parallel()
	s := seeder(t)
	for range 2 {
		if err := s.Products(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	products, more, err := s.Store.Catalogue().Products(t.Context(), 0, 1, 100)
	categories, failed := s.Store.Catalogue().Categories(t.Context())
	if err != nil || failed != nil || more || len(products) != 12 || len(categories) != 4 {
		t.Errorf("got %d products in %d categories, %v, %v; want 12 in 4", len(products), len(categories), err, failed)
	}
	for _, short := range products {
		p, err := s.Store.Catalogue().Product(t.Context(), short.ID)
		if err != nil || p.Description == "" || p.Rules == "" || !strings.HasPrefix(p.Images[0].URL, "/products/") ||
			p.Images[0].Alt == "" {
			t.Errorf("product %s: got %+v, want a description, rules and a picture", p.Name, p)
		}
		chinese := p.Texts["zh"]
		if chinese.Name == "" || chinese.Category == "" || chinese.Description == "" || chinese.Rules == "" {
			t.Errorf("product %s: got the Chinese texts %+v, want all of them", p.Name, chinese)
		}
	}
}

// TestRollingWithoutSlotsStartsWithAShortSlot: one slot has closed, one is open, the next one opens 90 seconds after
// the start.
func TestRollingWithoutSlotsStartsWithAShortSlot(t *testing.T) {
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
		t.Fatalf("got %d windows %v, want %d", len(plan), plan, len(want))
	}
	for i := range want {
		if plan[i] != want[i] {
			t.Errorf("window %d: got %v, want %v", i, plan[i], want[i])
		}
	}
}

func TestRollingContinuesWithoutGapOrOverlap(t *testing.T) {
	t.Parallel()
	now := 1_000_000 * minute
	for name, last := range map[string]shop.Millis{
		"a slot closed long ago": now - 60*minute, "a slot closed 0.5 s ago": now - 500,
		"a slot closed a minute ago": now - minute, "an open slot": now + minute,
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
			t.Errorf("%s: the plan ends at %d, want at least %d", name, end-now, 20*minute)
		}
	}
}

func TestScheduleJobFillsEverySlot(t *testing.T) {
	t.Parallel()
	s := seeder(t)
	if err := s.Products(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := 1_000_000 * minute
	now := start
	readSlots := func() (slots []shop.Slot, last shop.Millis) {
		slots, err := s.Store.Catalogue().Slots(t.Context(), start-60*minute, now+600*minute)
		if err != nil || len(slots) == 0 {
			t.Fatalf("got %d slots, %v; want at least 1", len(slots), err)
		}
		return slots, slots[len(slots)-1].ClosesAt
	}
	j := &ScheduleJob{Seeder: s, Slot: RollingSlot, Now: func() shop.Millis { return now }}
	for range 3 {
		if err := j.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		now += 7 * minute
	}
	// A crash between slots and sales leaves an empty slot, which the next RunOnce fills.
	_, last := readSlots()
	err := s.Store.Catalogue().AddSlots(t.Context(), []shop.Slot{{ID: 77, OpensAt: last, ClosesAt: last + 5*minute}})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	slots, _ := readSlots()
	for _, slot := range slots {
		sales, err := s.Store.Sales().SalesOfSlot(t.Context(), slot.ID)
		products := make(map[shop.ID]bool)
		for _, sale := range sales {
			products[sale.Product.ID] = true
			if sale.PriceFen <= 0 || sale.PriceFen >= sale.Product.ListPriceFen || sale.Cap < sale.Limit ||
				sale.Initial < 1 || sale.Partition > 7 {
				t.Errorf("got the invalid sale %+v", sale)
			}
		}
		if err != nil || len(products) < 6 {
			t.Errorf("slot %d: got %d products, %v; want at least 6", slot.ID, len(products), err)
		}
	}
}

func TestDailyUsesTheTimeZoneOfTheShop(t *testing.T) {
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

func TestBulkReportsProgress(t *testing.T) {
	t.Parallel()
	s := seeder(t)
	var progress []int
	if err := s.Bulk(t.Context(), 4500, func(done int) { progress = append(progress, done) }); err != nil {
		t.Fatal(err)
	}
	var products int
	if err := s.Store.DB().QueryRow("SELECT COUNT(*) FROM products").Scan(&products); err != nil {
		t.Fatal(err)
	}
	if products != 4500 || len(progress) != 3 || progress[2] != 4500 {
		t.Errorf("got %d products and the progress %v, want 4500 products in 3 batches", products, progress)
	}
}
