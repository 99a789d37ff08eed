package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

// saleLength is how long the sales are open.
const saleLength = time.Hour

// Shop gives the generator access to the shop and creates sales for a crowd. The command that has read the
// configuration creates the Shop. The products and slots that Shop creates stay in the catalogue.
type Shop struct {
	Store      *store.Store
	Mint       func() (shop.ID, error)
	Partitions int
	// Token signs the token of a shopper.
	Token func(user shop.ID) (string, error)
	// Audit checks the stock equation of the sales.
	Audit func(ctx context.Context, sales ...shop.ID) ([]recovery.AuditReport, error)
	// AlipayAppID and AlipaySellerID identify the shop at Alipay. AlipayAppID is empty without a gateway.
	AlipayAppID, AlipaySellerID string

	product shop.Product
	offered int // number of sales so far; determines the partition of the next sale
}

// offer adds n sales that are open now. It uses the open slot or a new one and assigns partitions round-robin.
func (s *Shop) offer(ctx context.Context, n int, units int64, limit int) ([]shop.ID, error) {
	if s.product.ID == 0 {
		if err := s.addProduct(ctx); err != nil {
			return nil, err
		}
	}
	now := shop.MillisOf(time.Now())
	slot, err := s.openSlot(ctx, now)
	if err != nil {
		return nil, err
	}
	ids, sales := make([]shop.ID, n), make([]shop.Sale, n)
	for i := range sales {
		if ids[i], err = s.Mint(); err != nil {
			return nil, fmt.Errorf("mint sale id: %w", err)
		}
		sales[i] = shop.Sale{
			ID: ids[i], Slot: slot.ID, Partition: s.offered % s.Partitions, Product: s.product, PriceFen: 9900,
			Initial: units, Limit: limit, Cap: limit, Challenge: shop.ChallengeNone, Version: 1,
			OpensAt: max(slot.OpensAt, now.Add(-time.Second)), ClosesAt: slot.ClosesAt,
		}
		s.offered++
	}
	return ids, s.Store.Sales().AddSales(ctx, sales)
}

func (s *Shop) addProduct(ctx context.Context) error {
	product, productErr := s.Mint()
	category, categoryErr := s.Mint()
	if err := errors.Join(productErr, categoryErr); err != nil {
		return fmt.Errorf("mint product id: %w", err)
	}
	s.product = shop.Product{
		ID: product, Name: "Load no. " + product.String(), CategoryID: category, ListPriceFen: 19900,
		Images: []shop.Image{{URL: "/products/kettle.svg", Alt: "Kettle"}},
	}
	err := s.Store.Catalogue().AddCategories(ctx, []shop.Category{{ID: category, Name: "Load " + category.String()}})
	if err == nil {
		err = s.Store.Catalogue().AddProducts(ctx, []shop.Product{s.product})
	}
	if err != nil {
		return fmt.Errorf("add a product: %w", err)
	}
	return nil
}

// openSlot returns the slot that is open now, or adds a slot between the neighbouring slots.
func (s *Shop) openSlot(ctx context.Context, now shop.Millis) (shop.Slot, error) {
	slot := shop.Slot{OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(saleLength)}
	neighbours, err := s.Store.Catalogue().Slots(ctx, slot.OpensAt, slot.ClosesAt)
	if err != nil {
		return shop.Slot{}, fmt.Errorf("read slots: %w", err)
	}
	for _, other := range neighbours {
		switch {
		case other.OpensAt <= now && now < other.ClosesAt:
			return other, nil
		case other.ClosesAt <= now:
			slot.OpensAt = max(slot.OpensAt, other.ClosesAt)
		default:
			slot.ClosesAt = min(slot.ClosesAt, other.OpensAt)
		}
	}
	if slot.ID, err = s.Mint(); err != nil {
		return shop.Slot{}, fmt.Errorf("mint slot id: %w", err)
	}
	if err = s.Store.Catalogue().AddSlots(ctx, []shop.Slot{slot}); err != nil {
		return shop.Slot{}, fmt.Errorf("add a slot: %w", err)
	}
	return slot, nil
}

// audit returns the number of reservations without a row and the failed checks of the sales.
func (s *Shop) audit(ctx context.Context, sales []shop.ID) (waiting int64, failures []string, err error) {
	if len(sales) == 0 {
		return 0, nil, nil
	}
	reports, err := s.Audit(ctx, sales...)
	for _, r := range reports {
		waiting += r.Waiting
		for _, f := range r.Failures {
			failures = append(failures, "sale "+r.Sale.String()+": "+f)
		}
	}
	return waiting, failures, err
}
