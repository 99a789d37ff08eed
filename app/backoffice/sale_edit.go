package backoffice

import (
	"context"
	"errors"
	"slices"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// EditSale applies an edit to a sale. Until the sale is loaded, all fields can change; from then on the stock and the
// archived state cannot. From editLead before the opening, only the fields in editableWhileOpen can change. After the
// end only the position can change, and the sale can be archived.
func (sc Schedule) EditSale(
	ctx context.Context, actor journal.Actor, id shop.ID, edit SaleEdit,
) (store.SaleRecord, error) {
	kind := "sale.edit"
	if edit.Archived != nil && *edit.Archived {
		kind = "sale.archive"
	}
	edited, err := store.RunOperationFor[store.SaleRecord](ctx, sc.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := sc.lockedSale(ctx, tx, id)
			if err = checkVersion("sale", id, before, before.Version, edit.Version, err); err != nil {
				return journal.Operation{}, err
			}
			after := before
			sc.applySaleEdit(&after, &edit)
			if err := sc.checkEdit(&before, &after); err != nil {
				return journal.Operation{}, err
			}
			if before.ArchivedAt != 0 && after.ArchivedAt == 0 {
				if _, err := tx.Catalogue().LockSlot(ctx, before.Slot.ID); errors.Is(err, shop.ErrNoRow) {
					return journal.Operation{}, shop.Fail(shop.WrongState, "the slot of the sale was removed: copy the sale to another slot")
				} else if err != nil {
					return journal.Operation{}, err
				}
			}
			if err := tx.Sales().SaveSales(ctx, after); err != nil {
				return journal.Operation{}, err
			}
			after, err = sc.lockedSale(ctx, tx, id)
			return journal.Operation{
				Kind: kind, Object: object("sale", id), Before: before, After: after,
				Result: after,
			}, err
		})
	if err == nil {
		sc.callOnSale(ctx, &actor, id)
	}
	return edited, err
}

func (sc Schedule) applySaleEdit(after *store.SaleRecord, edit *SaleEdit) {
	set(&after.PriceFen, edit.PriceFen)
	set(&after.Initial, edit.Stock)
	set(&after.Limit, edit.Limit)
	set(&after.Cap, edit.Cap)
	set(&after.OpensAt, edit.OpensAt)
	set(&after.ClosesAt, edit.ClosesAt)
	set(&after.Challenge, edit.Challenge)
	set(&after.Position, edit.Position)
	after.ArchivedAt = archived(after.ArchivedAt, edit.Archived, sc.Now())
}

// differences returns the names of the fields in which two states of a sale differ.
func differences(a, b *store.SaleRecord) []string {
	var names []string
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"price_fen", a.PriceFen != b.PriceFen},
		{"stock", a.Initial != b.Initial},
		{"limit", a.Limit != b.Limit},
		{"cap", a.Cap != b.Cap},
		{"opens_at", a.OpensAt != b.OpensAt},
		{"closes_at", a.ClosesAt != b.ClosesAt},
		{"challenge", a.Challenge != b.Challenge},
		{"position", a.Position != b.Position},
		{"archived", (a.ArchivedAt != 0) != (b.ArchivedAt != 0)},
	} {
		if f.changed {
			names = append(names, f.name)
		}
	}
	return names
}

// editableWhileOpen lists the fields that can change while buyers buy. A change of these fields revokes no promise to a
// buyer.
var editableWhileOpen = []string{"limit", "cap", "challenge", "position"}

// checkEdit rejects changes that are no longer safe. Each error names an alternative.
func (sc Schedule) checkEdit(before, after *store.SaleRecord) error {
	changed := differences(before, after)
	now := sc.Now()
	if after.Position < 0 || after.Position > maxPosition {
		return shop.Fail(shop.BadRequest, "position must be from 0 to 1000000")
	}
	for _, name := range changed {
		switch {
		case name == "position":
		case name == "archived" && before.Loaded && now < before.ClosesAt:
			return shop.Fail(shop.WrongState, "the sale is in Redis and not over, so it cannot be archived: pause it or end it early")
		case name == "archived" && after.ArchivedAt != 0 && now >= before.ClosesAt && len(changed) == 1:
		case name == "stock" && before.Loaded:
			return shop.Fail(shop.WrongState, "the stock is already in Redis: add or withdraw units")
		case before.ArchivedAt != 0 && after.ArchivedAt != 0:
			return shop.Fail(shop.WrongState, "the sale is archived: restore it first")
		case now >= before.ClosesAt:
			return shop.Fail(shop.WrongState, "the sale is over, so its "+name+" cannot change. Copy it to another slot")
		case now >= before.OpensAt.Add(-editLead) && !slices.Contains(editableWhileOpen, name):
			return shop.Failf(shop.WrongState, "the sale is open or opens within %v, so its %s cannot change. %s",
				editLead, name, alternatives[name])
		}
	}
	if now >= before.ClosesAt || len(changed) == 0 || len(changed) == 1 && changed[0] == "position" {
		return nil
	}
	return sc.checkSale(after)
}

// alternatives maps a field to the alternative while a sale is open.
var alternatives = map[string]string{
	"price_fen": "End it early and create another sale",
	"stock":     "Add or withdraw units",
	"opens_at":  "Pause it",
	"closes_at": "End it early",
	"archived":  "Pause it or end it early",
}
