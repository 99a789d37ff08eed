package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app"
)

// offerFor is how long the sales of a crowd are open.
const offerFor = time.Hour

// Shop is the side of the shop that the generator needs, from whoever has its configuration. It puts sales on offer for
// a crowd; its products and slots stay in the catalogue.
type Shop struct {
	Catalogue  app.CatalogueStore
	Editor     app.CatalogueEditor
	Mint       func() (app.ID, error)
	Partitions int
	// Token signs a token for a shopper.
	Token func(user app.ID) (string, error)
	// Read answers what a captcha shows, as somebody who looks at it would; id is that of the task.
	Read func(ctx context.Context, id string) (string, error)
	// Audit proves the stock equation of the sales.
	Audit func(ctx context.Context, sales ...app.ID) ([]app.AuditReport, error)
	// AlipayAppID and AlipaySellerID are the shop as Alipay knows it; no app id when nothing can be paid.
	AlipayAppID, AlipaySellerID string

	product app.Product
	offered int // sales so far; the next one goes into the next partition
}

// offer adds n sales that are open now, in the slot that is open or in a new one, spread over the partitions in turn.
func (s *Shop) offer(ctx context.Context, n int, units int64, limit int) ([]app.ID, error) {
	if s.product.ID == 0 {
		if err := s.addProduct(ctx); err != nil {
			return nil, err
		}
	}
	now := app.MillisOf(time.Now())
	slot, err := s.openSlot(ctx, now)
	if err != nil {
		return nil, err
	}
	ids, sales := make([]app.ID, n), make([]app.Sale, n)
	for i := range sales {
		sales[i] = app.Sale{
			Initial: units, Limit: limit, Cap: limit, Challenge: app.ChallengeNone,
			OpensAt: max(slot.OpensAt, now.Add(-time.Second)),
		}
		if err := s.fill(&sales[i], slot); err != nil {
			return nil, err
		}
		ids[i] = sales[i].ID
	}
	return ids, s.Editor.AddSales(ctx, sales)
}

// offerOne adds a sale that opens soon, in the slot that is open.
func (s *Shop) offerOne(ctx context.Context, sale app.Sale) (app.Sale, error) {
	if s.product.ID == 0 {
		if err := s.addProduct(ctx); err != nil {
			return sale, err
		}
	}
	slot, err := s.openSlot(ctx, app.MillisOf(time.Now()))
	if err != nil {
		return sale, err
	}
	if sale.OpensAt >= slot.ClosesAt {
		return sale, fmt.Errorf("the open slot closes at %s, before the sale opens",
			slot.ClosesAt.Time().Format(time.TimeOnly))
	}
	if err := s.fill(&sale, slot); err != nil {
		return sale, err
	}
	return sale, s.Editor.AddSales(ctx, []app.Sale{sale})
}

// fill completes a sale of the slot; it lies in the next partition.
func (s *Shop) fill(sale *app.Sale, slot app.Slot) (err error) {
	if sale.ID, err = s.Mint(); err != nil {
		return fmt.Errorf("mint sale id: %w", err)
	}
	sale.Slot, sale.ClosesAt, sale.Product = slot.ID, slot.ClosesAt, s.product
	sale.Partition, sale.PriceFen, sale.Version = s.offered%s.Partitions, 9900, 1
	s.offered++
	return nil
}

func (s *Shop) addProduct(ctx context.Context) error {
	product, productErr := s.Mint()
	category, categoryErr := s.Mint()
	if err := errors.Join(productErr, categoryErr); err != nil {
		return fmt.Errorf("mint product id: %w", err)
	}
	s.product = app.Product{
		ID: product, Name: "Load no. " + product.String(), CategoryID: category, ListPriceFen: 19900,
		Images: []app.Image{{URL: "/products/kettle.svg", Alt: "Kettle"}},
	}
	err := s.Editor.AddCategories(ctx, []app.Category{{ID: category, Name: "Load " + category.String()}})
	if err == nil {
		err = s.Editor.AddProducts(ctx, []app.Product{s.product})
	}
	if err != nil {
		return fmt.Errorf("add a product: %w", err)
	}
	return nil
}

// openSlot is the slot that is open now, or a new one between its neighbours.
func (s *Shop) openSlot(ctx context.Context, now app.Millis) (app.Slot, error) {
	slot := app.Slot{OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(offerFor)}
	near, err := s.Catalogue.Slots(ctx, slot.OpensAt, slot.ClosesAt)
	if err != nil {
		return app.Slot{}, fmt.Errorf("read slots: %w", err)
	}
	for _, other := range near {
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
		return app.Slot{}, fmt.Errorf("mint slot id: %w", err)
	}
	err = s.Editor.AddSlots(ctx, []app.Slot{slot})
	var refused *app.Error
	if errors.As(err, &refused) && refused.Code == app.Conflict { // another process that presses has just added one
		return s.slotOf(ctx, now)
	}
	if err != nil {
		return app.Slot{}, fmt.Errorf("add a slot: %w", err)
	}
	return slot, nil
}

// slotOf is the slot that is open now.
func (s *Shop) slotOf(ctx context.Context, now app.Millis) (app.Slot, error) {
	near, err := s.Catalogue.Slots(ctx, now, now.Add(time.Millisecond))
	if err != nil {
		return app.Slot{}, fmt.Errorf("read slots: %w", err)
	}
	for _, slot := range near {
		if slot.OpensAt <= now && now < slot.ClosesAt {
			return slot, nil
		}
	}
	return app.Slot{}, app.Fail(app.Conflict, "there is no room for a slot that is open now")
}

// audit answers how many reservations of the sales have no row yet, and what does not hold.
func (s *Shop) audit(ctx context.Context, sales []app.ID) (waiting int64, failures []string, err error) {
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
