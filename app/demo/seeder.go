package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

const salesPerSlot = 8

// Seeder adds missing demo data to the catalogue.
type Seeder struct {
	Store      *store.Store
	Mint       func() (shop.ID, error) // ids of slots, sales and bulk products
	Partitions int
	Challenge  shop.Challenge // challenge of the sales; "": none
}

// Products adds the demo products and their categories.
func (s *Seeder) Products(ctx context.Context) error {
	if err := s.categories(ctx, categories); err != nil {
		return err
	}
	var missing []shop.Product
	for _, o := range offers {
		_, err := s.Store.Catalogue().Product(ctx, o.product.ID)
		switch {
		case errors.Is(err, shop.ErrNoRow):
			missing = append(missing, o.product)
		case err != nil:
			return fmt.Errorf("look for product %s: %w", o.product.ID, err)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := s.Store.Catalogue().AddProducts(ctx, missing); err != nil {
		return fmt.Errorf("add demo products: %w", err)
	}
	return nil
}

func (s *Seeder) categories(ctx context.Context, wanted []shop.Category) error {
	existing, err := s.Store.Catalogue().Categories(ctx)
	if err != nil {
		return fmt.Errorf("list categories: %w", err)
	}
	missing := slices.DeleteFunc(slices.Clone(wanted), func(c shop.Category) bool {
		return slices.ContainsFunc(existing, func(known shop.Category) bool { return known.ID == c.ID })
	})
	if len(missing) == 0 {
		return nil
	}
	if err := s.Store.Catalogue().AddCategories(ctx, missing); err != nil {
		return fmt.Errorf("add categories: %w", err)
	}
	return nil
}

// Schedule adds the missing slots of the plan, and demo sales to every slot of the plan without sales, including those
// left empty by a crash. It returns how many slots it filled.
func (s *Seeder) Schedule(ctx context.Context, plan []Window) (int, error) {
	if len(plan) == 0 {
		return 0, nil
	}
	slots := make([]shop.Slot, len(plan))
	for i, w := range plan {
		id, err := s.Mint()
		if err != nil {
			return 0, fmt.Errorf("mint slot id: %w", err)
		}
		slots[i] = shop.Slot{ID: id, OpensAt: w.Opens, ClosesAt: w.Closes}
	}
	if err := s.Store.Catalogue().AddSlots(ctx, slots); err != nil {
		return 0, fmt.Errorf("add %d slots: %w", len(slots), err)
	}
	// Read the slots again: an existing slot keeps its id.
	existing, err := s.Store.Catalogue().Slots(ctx, plan[0].Opens, plan[len(plan)-1].Closes)
	if err != nil {
		return 0, fmt.Errorf("read slots: %w", err)
	}
	var sales []shop.Sale
	filled := 0
	for _, slot := range existing {
		if slot.Sales > 0 || !slices.Contains(plan, Window{slot.OpensAt, slot.ClosesAt}) {
			continue
		}
		filled++
		added, err := s.sales(slot)
		if err != nil {
			return 0, err
		}
		sales = append(sales, added...)
	}
	if len(sales) == 0 {
		return 0, nil
	}
	if err := s.Store.Sales().AddSales(ctx, sales); err != nil {
		return 0, fmt.Errorf("add %d sales: %w", len(sales), err)
	}
	return filled, nil
}

// sales returns the new sales of a slot. Consecutive slots of the same length get consecutive parts of the offers.
func (s *Seeder) sales(slot shop.Slot) ([]shop.Sale, error) {
	first := int(slot.OpensAt/(slot.ClosesAt-slot.OpensAt)) * salesPerSlot
	added := make([]shop.Sale, salesPerSlot)
	for i := range added {
		id, err := s.Mint()
		if err != nil {
			return nil, fmt.Errorf("mint sale id: %w", err)
		}
		o := offers[(first+i)%len(offers)]
		added[i] = shop.Sale{
			ID: id, Slot: slot.ID, Partition: (first + i) % s.Partitions, Product: o.product,
			PriceFen: o.product.ListPriceFen * o.percent / 100 / 100 * 100, // whole yuan
			Initial:  o.units, Limit: o.limit, Cap: backoffice.DefaultCap(o.limit),
			OpensAt: slot.OpensAt, ClosesAt: slot.ClosesAt, Challenge: s.Challenge, Version: 1,
		}
	}
	return added, nil
}
