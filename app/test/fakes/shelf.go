package fakes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"stampede/app/shop"
)

// SaleData is an in-memory catalogue source. It counts reads and can fail.
type SaleData struct {
	CatalogueStore
	At      int64
	OnSale  map[shop.ID]shop.Sale
	Planned []shop.Slot

	mu    sync.Mutex
	Asked int
	away  error // the error of every read
	hangs bool  // reads block until their context ends
	Slow  time.Duration
}

// Breaks makes all reads fail from now on. With hangs they first block until their context ends.
func (s *SaleData) Breaks(hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = fmt.Errorf("%w: no route to host", shop.ErrTransient), hangs
}

func (s *SaleData) Mends() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = nil, false
}

func (s *SaleData) counts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked++
}

func (s *SaleData) answers(ctx context.Context) error {
	s.mu.Lock()
	away, hangs := s.away, s.hangs
	s.mu.Unlock()
	time.Sleep(s.Slow)
	if hangs {
		<-ctx.Done()
	}
	return away
}

func (s *SaleData) Version(ctx context.Context) (int64, error) { return s.At, s.answers(ctx) }

func (s *SaleData) SaleIDs(ctx context.Context) ([]shop.ID, error) {
	return slices.Collect(maps.Keys(s.OnSale)), s.answers(ctx)
}

func (s *SaleData) Sale(ctx context.Context, id shop.ID) (shop.Sale, error) {
	s.counts()
	if err := s.answers(ctx); err != nil {
		return shop.Sale{}, err
	}
	if sale, ok := s.OnSale[id]; ok {
		return sale, nil
	}
	return shop.Sale{}, shop.ErrNoRow
}

func (s *SaleData) Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	s.counts()
	return s.that(func(sale shop.Sale) bool { return slices.Contains(ids, sale.ID) }), s.answers(ctx)
}

func (s *SaleData) SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error) {
	s.counts()
	return s.that(func(sale shop.Sale) bool { return sale.Slot == slot }), s.answers(ctx)
}

// that returns the sales for which `is` returns true.
func (s *SaleData) that(is func(shop.Sale) bool) (found []shop.Sale) {
	for _, sale := range s.OnSale {
		if is(sale) {
			found = append(found, sale)
		}
	}
	return found
}

func (s *SaleData) Slot(ctx context.Context, id shop.ID) (shop.Slot, error) {
	return shop.Slot{ID: id}, s.answers(ctx)
}

func (s *SaleData) Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	var in []shop.Slot
	for _, slot := range s.Planned {
		if slot.OpensAt < to && slot.ClosesAt > from {
			in = append(in, slot)
		}
	}
	return in, s.answers(ctx)
}

// ExactFilter returns an id filter without false positives.
func ExactFilter(ids []shop.ID) func(shop.ID) bool {
	return func(id shop.ID) bool { return slices.Contains(ids, id) }
}
