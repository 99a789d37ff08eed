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

	mu      sync.Mutex
	Reads   int
	failure error // the error of every read
	blocks  bool  // reads block until their context ends
	Delay   time.Duration
}

// Fail makes all reads fail from now on. If blocks is set, they first block until their context ends.
func (s *SaleData) Fail(blocks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure, s.blocks = fmt.Errorf("%w: no route to host", shop.ErrTransient), blocks
}

func (s *SaleData) Repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure, s.blocks = nil, false
}

func (s *SaleData) countRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Reads++
}

func (s *SaleData) readError(ctx context.Context) error {
	s.mu.Lock()
	failure, blocks := s.failure, s.blocks
	s.mu.Unlock()
	time.Sleep(s.Delay)
	if blocks {
		<-ctx.Done()
	}
	return failure
}

func (s *SaleData) Version(ctx context.Context) (int64, error) { return s.At, s.readError(ctx) }

func (s *SaleData) SaleIDs(ctx context.Context) ([]shop.ID, error) {
	return slices.Collect(maps.Keys(s.OnSale)), s.readError(ctx)
}

func (s *SaleData) Sale(ctx context.Context, id shop.ID) (shop.Sale, error) {
	s.countRead()
	if err := s.readError(ctx); err != nil {
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
	s.countRead()
	return s.selectSales(func(sale shop.Sale) bool { return slices.Contains(ids, sale.ID) }), s.readError(ctx)
}

func (s *SaleData) SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error) {
	s.countRead()
	return s.selectSales(func(sale shop.Sale) bool { return sale.Slot == slot }), s.readError(ctx)
}

// selectSales returns the sales for which matches returns true.
func (s *SaleData) selectSales(matches func(shop.Sale) bool) (found []shop.Sale) {
	for _, sale := range s.OnSale {
		if matches(sale) {
			found = append(found, sale)
		}
	}
	return found
}

func (s *SaleData) Slot(ctx context.Context, id shop.ID) (shop.Slot, error) {
	return shop.Slot{ID: id}, s.readError(ctx)
}

func (s *SaleData) Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	var in []shop.Slot
	for _, slot := range s.Planned {
		if slot.OpensAt < to && slot.ClosesAt > from {
			in = append(in, slot)
		}
	}
	return in, s.readError(ctx)
}

// ExactFilter returns an id filter without false positives.
func ExactFilter(ids []shop.ID) func(shop.ID) bool {
	return func(id shop.ID) bool { return slices.Contains(ids, id) }
}
