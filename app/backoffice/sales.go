package backoffice

import (
	"cmp"
	"context"
	"errors"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// SaleDraft is an operator's input for a new sale. The default window is the window of the slot; the default cap is six
// times the limit.
type SaleDraft struct {
	Slot      shop.ID        `json:"slot"`
	Product   shop.ID        `json:"product"`
	PriceFen  int64          `json:"price_fen"`
	Stock     int64          `json:"stock"`
	Limit     int            `json:"limit"`
	Cap       int            `json:"cap,omitempty"`
	OpensAt   shop.Millis    `json:"opens_at,omitempty"`
	ClosesAt  shop.Millis    `json:"closes_at,omitempty"`
	Challenge shop.Challenge `json:"challenge,omitempty"`
}

// SaleEdit is an edit of a sale; nil fields stay unchanged. Once the stock is in Redis, use AddStock and WithdrawStock.
type SaleEdit struct {
	Version   int64           `json:"version"`
	PriceFen  *int64          `json:"price_fen"`
	Stock     *int64          `json:"stock"`
	Limit     *int            `json:"limit"`
	Cap       *int            `json:"cap"`
	OpensAt   *shop.Millis    `json:"opens_at"`
	ClosesAt  *shop.Millis    `json:"closes_at"`
	Challenge *shop.Challenge `json:"challenge"`
	Position  *int            `json:"position"`
	Archived  *bool           `json:"archived"`
}

// SaleCopy copies a sale into another slot. Omitted fields are copied; the default window is the window of the new
// slot.
type SaleCopy struct {
	Slot      shop.ID         `json:"slot"`
	Product   *shop.ID        `json:"product"`
	PriceFen  *int64          `json:"price_fen"`
	Stock     *int64          `json:"stock"`
	Limit     *int            `json:"limit"`
	Cap       *int            `json:"cap"`
	OpensAt   *shop.Millis    `json:"opens_at"`
	ClosesAt  *shop.Millis    `json:"closes_at"`
	Challenge *shop.Challenge `json:"challenge"`
}

const (
	maxUnits = 100_000_000 // per sale
	maxLimit = 10_000
	maxCap   = 60_000
	// capPerLimit is the default cap per unit of the limit: more reservations by one buyer count as hoarding.
	capPerLimit = 6
)

// DefaultCap returns the default cap on a buyer's reservations for a limit.
func DefaultCap(limit int) int { return min(max(limit, 0)*capPerLimit, maxCap) }

// SaleRecords lists sales with their present phases and reports whether another page exists.
func (sc Schedule) SaleRecords(ctx context.Context, q store.SalesQuery) ([]store.SaleRecord, bool, error) {
	q.Now = sc.Now()
	page, more, err := sc.Store.Sales().SaleRecords(ctx, q)
	for i := range page {
		setPhases(&page[i], q.Now)
	}
	return page, more, shop.Unavailable("sales", err)
}

// SaleRecord reads one sale. NotFound: no such sale.
func (sc Schedule) SaleRecord(ctx context.Context, id shop.ID) (store.SaleRecord, error) {
	s, err := sc.Store.Sales().SaleRecord(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return s, notFound("sale", id, err)
	}
	setPhases(&s, sc.Now())
	return s, shop.Unavailable("the sale", err)
}

// setPhases sets the phases of the sale and its slot at an instant.
func setPhases(s *store.SaleRecord, now shop.Millis) {
	s.Phase = shop.PhaseAt(now, s.OpensAt, s.ClosesAt)
	s.Slot.Phase = shop.PhaseAt(now, s.Slot.OpensAt, s.Slot.ClosesAt)
}

// CreateSale creates a sale. It is visible immediately and is loaded into Redis five minutes before it opens.
func (sc Schedule) CreateSale(
	ctx context.Context, actor journal.Actor, draft SaleDraft,
) (store.SaleRecord, error) {
	id, err := sc.Mint()
	if err != nil {
		return store.SaleRecord{}, shop.Unavailable("the catalogue", err)
	}
	made, err := store.RunOperationFor[store.SaleRecord](ctx, sc.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			made, err := sc.addSale(ctx, tx, id, draft)
			return journal.Operation{Kind: "sale.create", Object: object("sale", id), After: made, Result: made}, err
		})
	if err == nil {
		sc.callOnSale(ctx, &actor, made.ID)
	}
	return made, err
}

// CopySale copies a sale into another slot.
func (sc Schedule) CopySale(
	ctx context.Context, actor journal.Actor, from shop.ID, c SaleCopy,
) (store.SaleRecord, error) {
	id, err := sc.Mint()
	if err != nil {
		return store.SaleRecord{}, shop.Unavailable("the catalogue", err)
	}
	made, err := store.RunOperationFor[store.SaleRecord](ctx, sc.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			original, err := tx.Sales().SaleRecord(ctx, from)
			if err != nil {
				return journal.Operation{}, notFound("sale", from, err)
			}
			made, err := sc.addSale(ctx, tx, id, c.draft(&original))
			return journal.Operation{
				Kind: "sale.create", Object: object("sale", id), After: made, Result: made, Note: "like sale " + from.String(),
			}, err
		})
	if err == nil {
		sc.callOnSale(ctx, &actor, made.ID)
	}
	return made, err
}

// draft returns the draft of the copy. Its stock is the initial stock of the original.
func (c SaleCopy) draft(original *store.SaleRecord) SaleDraft {
	draft := SaleDraft{
		Slot: c.Slot, Product: original.Product.ID, PriceFen: original.PriceFen, Stock: original.Initial,
		Limit: original.Limit, Cap: original.Cap, Challenge: original.Challenge,
	}
	set(&draft.Product, c.Product)
	set(&draft.PriceFen, c.PriceFen)
	set(&draft.Stock, c.Stock)
	set(&draft.Limit, c.Limit)
	set(&draft.Cap, c.Cap)
	set(&draft.OpensAt, c.OpensAt)
	set(&draft.ClosesAt, c.ClosesAt)
	set(&draft.Challenge, c.Challenge)
	return draft
}

// addSale writes a sale within an operation. It picks the partition with the fewest sales of the slot, because sales
// that open together should use different partitions.
func (sc Schedule) addSale(
	ctx context.Context, tx *store.Store, id shop.ID, draft SaleDraft,
) (store.SaleRecord, error) {
	draft.Challenge, draft.Cap = cmp.Or(draft.Challenge, shop.ChallengeNone), cmp.Or(draft.Cap, DefaultCap(draft.Limit))
	slot, err := tx.Catalogue().LockSlot(ctx, draft.Slot)
	if errors.Is(err, shop.ErrNoRow) {
		return store.SaleRecord{}, shop.Fail(shop.BadRequest, "there is no slot "+draft.Slot.String())
	}
	if err != nil {
		return store.SaleRecord{}, err
	}
	product, err := tx.Catalogue().LockProduct(ctx, draft.Product)
	if errors.Is(err, shop.ErrNoRow) || err == nil && product.ArchivedAt != 0 {
		return store.SaleRecord{}, shop.Fail(
			shop.BadRequest, "there is no product "+draft.Product.String()+", or it is archived",
		)
	}
	if err != nil {
		return store.SaleRecord{}, err
	}
	draft.OpensAt, draft.ClosesAt = cmp.Or(draft.OpensAt, slot.OpensAt), cmp.Or(draft.ClosesAt, slot.ClosesAt)
	s := store.SaleRecord{
		ID: id, Slot: slot, Product: product.Product, PriceFen: draft.PriceFen, Initial: draft.Stock,
		Limit: draft.Limit, Cap: draft.Cap, Challenge: draft.Challenge,
		OpensAt: draft.OpensAt, ClosesAt: draft.ClosesAt,
	}
	if err := sc.checkSale(&s); err != nil {
		return store.SaleRecord{}, err
	}
	if s.Partition, _, err = tx.Sales().EmptiestPartition(ctx, slot.ID); err != nil {
		return store.SaleRecord{}, err
	}
	if err := tx.Sales().AddSales(ctx, []shop.Sale{saleOf(&s)}); err != nil {
		return store.SaleRecord{}, err
	}
	return sc.lockedSale(ctx, tx, id)
}

// saleOf returns the new catalogue row of a sale.
func saleOf(s *store.SaleRecord) shop.Sale {
	return shop.Sale{
		ID: s.ID, Slot: s.Slot.ID, Partition: s.Partition, Product: s.Product, PriceFen: s.PriceFen, Initial: s.Initial,
		Limit: s.Limit, Cap: s.Cap, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, Challenge: s.Challenge, Version: 1,
	}
}

// lockedSale reads and locks a sale within an operation.
func (sc Schedule) lockedSale(ctx context.Context, tx *store.Store, id shop.ID) (store.SaleRecord, error) {
	s, err := tx.Sales().LockSale(ctx, id)
	setPhases(&s, sc.Now())
	return s, err
}

// checkSale rejects invalid terms.
func (sc Schedule) checkSale(s *store.SaleRecord) error {
	if err := checkFen("price_fen", s.PriceFen, 1); err != nil {
		return err
	}
	if _, err := shop.ParseChallenge(string(s.Challenge)); err != nil {
		return err
	}
	switch {
	case s.Initial < 1 || s.Initial > maxUnits:
		return shop.Failf(shop.BadRequest, "stock must be from 1 to %d units", maxUnits)
	case s.Limit < 1 || s.Limit > maxLimit:
		return shop.Failf(shop.BadRequest, "limit must be from 1 to %d units per buyer", maxLimit)
	case s.Cap < s.Limit || s.Cap > maxCap:
		return shop.Failf(shop.BadRequest, "cap must be from %d (the limit) to %d reservations per buyer", s.Limit, maxCap)
	case s.PriceFen*int64(s.Limit) > maxFen:
		return shop.Fail(shop.BadRequest, "price_fen times limit must be at most "+shop.FormatFen(maxFen)+" yuan")
	}
	return sc.checkWindow(s)
}

func (sc Schedule) checkWindow(s *store.SaleRecord) error {
	switch {
	case s.OpensAt >= s.ClosesAt:
		return shop.Fail(shop.BadRequest, "closes_at must come after opens_at")
	case s.OpensAt < s.Slot.OpensAt || s.ClosesAt > s.Slot.ClosesAt:
		return shop.Fail(shop.BadRequest, "opens_at and closes_at must be within "+sc.describe(s.Slot))
	case s.OpensAt%1000 != 0 || s.ClosesAt%1000 != 0:
		return shop.Fail(shop.BadRequest, "opens_at and closes_at must be whole seconds")
	case s.ClosesAt <= sc.Now():
		return shop.Fail(shop.BadRequest, "closes_at is in the past")
	}
	return nil
}

// editLead is the time before the opening from which a sale counts as open for edits. An edit takes a moment to
// reach Redis, and buyers must not get the earlier terms.
const editLead = 10 * time.Second
