package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app"
	"stampede/app/server"
)

const (
	loadTokens = 2 * time.Hour // how long the tokens of a crowd live
	loadOffer  = time.Hour     // how long its sales are open
)

// loadShop puts sales on offer for a crowd and audits them. Its products and slots stay in the catalogue.
type loadShop struct {
	tools   *server.Tools
	config  server.Config
	edit    app.CatalogueEditor
	book    app.CatalogueStore
	mint    func() (app.ID, error)
	release func() error

	product app.Product
	offered int // sales so far; the next one goes into the next partition
}

func newLoadShop(ctx context.Context, t *server.Tools, config server.Config) (*loadShop, error) {
	seeder, release, err := t.Seeder(ctx)
	if err != nil {
		return nil, err
	}
	return &loadShop{
		tools: t, config: config, edit: seeder.Editor, book: seeder.Book, mint: seeder.Mint, release: release,
	}, nil
}

func (s *loadShop) close() error { return s.release() }

// Token signs a shopper's token.
func (s *loadShop) Token(user app.ID) (string, error) {
	return server.Issue(s.config, user, app.Shopper, loadTokens)
}

// Alipay is the shop as its settings name it.
func (s *loadShop) Alipay() (appID, sellerID string) {
	return s.config.AlipayAppID, s.config.AlipaySellerID
}

// Offer adds sales that are open now, in the slot that is open or in a new one.
func (s *loadShop) Offer(ctx context.Context, n int, units int64, limit int) ([]app.ID, error) {
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
		if ids[i], err = s.mint(); err != nil {
			return nil, fmt.Errorf("mint sale id: %w", err)
		}
		sales[i] = app.Sale{
			ID: ids[i], Slot: slot.ID, Partition: s.offered % s.config.Partitions, Product: s.product, PriceFen: 9900,
			Initial: units, Limit: limit, Cap: limit, Challenge: app.ChallengeNone, Version: 1,
			OpensAt: max(slot.OpensAt, now.Add(-time.Second)), ClosesAt: slot.ClosesAt,
		}
		s.offered++
	}
	return ids, s.edit.AddSales(ctx, sales)
}

func (s *loadShop) addProduct(ctx context.Context) error {
	product, productErr := s.mint()
	category, categoryErr := s.mint()
	if err := errors.Join(productErr, categoryErr); err != nil {
		return fmt.Errorf("mint product id: %w", err)
	}
	s.product = app.Product{
		ID: product, Name: "Load no. " + product.String(), CategoryID: category, ListPriceFen: 19900,
		Images: []app.Image{{URL: "/products/kettle.svg", Alt: "Kettle"}},
	}
	err := s.edit.AddCategories(ctx, []app.Category{{ID: category, Name: "Load " + category.String()}})
	if err == nil {
		err = s.edit.AddProducts(ctx, []app.Product{s.product})
	}
	if err != nil {
		return fmt.Errorf("add a product: %w", err)
	}
	return nil
}

// openSlot is the slot that is open now, or a new one between its neighbours.
func (s *loadShop) openSlot(ctx context.Context, now app.Millis) (app.Slot, error) {
	slot := app.Slot{OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(loadOffer)}
	near, err := s.book.Slots(ctx, slot.OpensAt, slot.ClosesAt)
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
	if slot.ID, err = s.mint(); err != nil {
		return app.Slot{}, fmt.Errorf("mint slot id: %w", err)
	}
	if err := s.edit.AddSlots(ctx, []app.Slot{slot}); err != nil {
		return app.Slot{}, fmt.Errorf("add a slot: %w", err)
	}
	return slot, nil
}

// Audit proves the stock equation of the sales.
func (s *loadShop) Audit(ctx context.Context, sales []app.ID) (waiting int64, failures []string, err error) {
	if len(sales) == 0 {
		return 0, nil, nil
	}
	err = s.tools.Audit(ctx, func(r app.AuditReport) {
		waiting += r.Waiting
		for _, f := range r.Failures {
			failures = append(failures, "sale "+r.Sale.String()+": "+f)
		}
	}, sales...)
	return waiting, failures, err
}
