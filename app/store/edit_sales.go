package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/journal"
	"stampede/app/shop"
)

// newSale is the row of a new sale.
type newSale struct {
	bun.BaseModel `bun:"table:sales"`

	saleColumns

	Product   shop.ID     `bun:"product_id"`
	Position  int         `bun:"position"`
	Seq       int64       `bun:"seq"`
	RetiredAt shop.Millis `bun:"retired_at"`
	CreatedAt shop.Millis `bun:"created_at"`
	UpdatedAt shop.Millis `bun:"updated_at"`
}

// AddSales adds all sales after the existing sales of their slots, or no sale. A zero window becomes the slot's window,
// an empty challenge becomes "none". BadRequest names the first invalid sale. ErrPermanent: an id exists.
func (s Sales) AddSales(ctx context.Context, sales []shop.Sale) error {
	return s.Catalogue().edit(ctx, "add sales", func(tx bun.Conn) error {
		limits, err := readSaleLimits(ctx, tx, sales)
		if err != nil {
			return err
		}
		now := wallClock()
		rows := make([]newSale, len(sales))
		for i := range sales {
			rows[i] = newSaleRow(&sales[i], now)
			if err := limits.place(&rows[i]); err != nil {
				return shop.Fail(shop.BadRequest, fmt.Sprintf("sale %s: %v", rows[i].ID, err))
			}
		}
		return insertAll(ctx, tx, rows)
	})
}

func newSaleRow(s *shop.Sale, now shop.Millis) newSale {
	row := newSale{
		saleColumns: saleColumns{
			ID: s.ID, Slot: s.Slot, Partition: s.Partition, PriceFen: s.PriceFen, Initial: s.Initial, Added: s.Added,
			Limit: s.Limit, Cap: s.Cap, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, Paused: s.Paused,
			Challenge: s.Challenge, Version: max(s.Version, 1),
		},
		Product: s.Product.ID, CreatedAt: now, UpdatedAt: now,
	}
	row.Challenge = cmp.Or(row.Challenge, shop.ChallengeNone)
	return row
}

// saleLimits holds the slots, products and partitions that new sales refer to.
type saleLimits struct {
	slots      map[shop.ID]*slotRow
	products   map[shop.ID]bool
	last       map[shop.ID]int // highest position in each slot
	partitions int64           // 0: not configured yet
}

func readSaleLimits(ctx context.Context, tx bun.Conn, sales []shop.Sale) (*saleLimits, error) {
	limits := &saleLimits{
		slots: make(map[shop.ID]*slotRow), products: make(map[shop.ID]bool),
		last: make(map[shop.ID]int),
	}
	var slotIDs, productIDs []shop.ID
	for i := range sales {
		if _, ok := limits.slots[sales[i].Slot]; !ok {
			limits.slots[sales[i].Slot] = nil
			slotIDs = append(slotIDs, sales[i].Slot)
		}
		if id := sales[i].Product.ID; !limits.products[id] {
			limits.products[id] = true
			productIDs = append(productIDs, id)
		}
	}
	var slots []slotRow
	if err := tx.NewSelect().Model(&slots).Where("id IN (?)", bun.List(slotIDs)).Scan(ctx); err != nil {
		return nil, err
	}
	for i := range slots {
		limits.slots[slots[i].ID] = &slots[i]
	}
	var lasts []struct {
		Slot shop.ID `bun:"slot_id"`
		Last int     `bun:"last"`
	}
	err := tx.NewRaw("SELECT slot_id, MAX(position) AS last FROM sales WHERE slot_id IN (?) GROUP BY slot_id",
		bun.List(slotIDs)).Scan(ctx, &lasts)
	if err != nil {
		return nil, err
	}
	for _, l := range lasts {
		limits.last[l.Slot] = l.Last
	}
	var found []shop.ID
	if err := tx.NewRaw("SELECT id FROM products WHERE id IN (?)", bun.List(productIDs)).Scan(ctx, &found); err != nil {
		return nil, err
	}
	clear(limits.products)
	for _, id := range found {
		limits.products[id] = true
	}
	limits.partitions, err = numberSetting(ctx, tx, settingPartitions)
	return limits, err
}

// place completes a sale from its slot and validates it.
func (limits *saleLimits) place(row *newSale) error {
	slot := limits.slots[row.Slot]
	if slot == nil {
		return fmt.Errorf("there is no slot %s", row.Slot)
	}
	if row.OpensAt == 0 && row.ClosesAt == 0 {
		row.OpensAt, row.ClosesAt = slot.OpensAt, slot.ClosesAt
	}
	row.Hidden = slot.Hidden
	limits.last[row.Slot]++
	row.Position = limits.last[row.Slot]
	switch {
	case row.ID <= 0:
		return errors.New("it has no id")
	case !limits.products[row.Product]:
		return fmt.Errorf("there is no product %s", row.Product)
	case row.OpensAt >= row.ClosesAt || row.OpensAt < slot.OpensAt || row.ClosesAt > slot.ClosesAt:
		return errors.New("its window is not within the window of its slot")
	case row.Partition < 0 || limits.partitions > 0 && int64(row.Partition) >= limits.partitions:
		return fmt.Errorf("partition %d is not one of the %d partitions", row.Partition, limits.partitions)
	case row.Initial < 0 || row.Added < 0 || row.PriceFen < 0:
		return errors.New("units and price cannot be negative")
	case row.Limit < 1 || row.Cap < 1:
		return errors.New("limit and cap per buyer must be at least 1")
	}
	_, err := shop.ParseChallenge(string(row.Challenge))
	return err
}

// LockTerms reads a sale in RunOperation, for SaveTerms. It raises the version of the catalogue first, which serialises
// editors. Changed: the sale has another version. ErrNoRow: no such sale. ErrTransient: see mayEdit.
func (s Sales) LockTerms(ctx context.Context, id shop.ID, version int64) (sale shop.Sale, err error) {
	err = s.Catalogue().edit(ctx, "lock sale "+id.String(), func(tx bun.Conn) error {
		if _, sale, err = readSale(ctx, tx, id); err != nil {
			return err
		}
		if sale.Version != version {
			return journal.Changed("the sale", shop.TermsOf(&sale))
		}
		return s.mayEdit(ctx, tx, sale.Partition)
	})
	return sale, err
}

// SaveTerms writes the terms of a sale from LockTerms and raises its version.
func (s Sales) SaveTerms(ctx context.Context, sale *shop.Sale) error {
	return s.inTx(ctx, "save sale "+sale.ID.String(), func(tx bun.Conn) error {
		sale.Version++
		return execMatching(ctx, tx, 1, "change a sale at its version",
			"UPDATE sales SET added = ?, opens_at = ?, closes_at = ?, paused = ?, challenge = ?, version = ?"+
				" WHERE id = ? AND version = ?",
			sale.Added, sale.OpensAt, sale.ClosesAt, sale.Paused, sale.Challenge, sale.Version, sale.ID, sale.Version-1)
	})
}
