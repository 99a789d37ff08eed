package app

import (
	"context"
	"fmt"
	"log/slog"
)

// learnLoaded marks sales as loaded of which only Redis knows that they are: a database that was promoted, or restored
// from a backup, may have forgotten it, and would take no order of theirs. Whatever has sold was armed, and was marked
// before that; what has sold nothing counts if it is at least as new as the database has it (see Warmer).
func learnLoaded(ctx context.Context, from SaleStore, inventory Inventory, partition int, epoch int64) error {
	at, err := inventory.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	sales, err := from.UnloadedSales(ctx, partition, at)
	if err != nil {
		return err
	}
	counters, err := inventory.Counters(ctx, refsOf(pointers(sales)))
	if err != nil {
		return fmt.Errorf("look for sales that were not loaded: %w", err)
	}
	for i, c := range counters {
		sale := &sales[i]
		if !c.Loaded || c.Tickets == 0 && c.Version < sale.Version {
			continue
		}
		if err := from.RestoreLoaded(ctx, sale.ID, epoch, sale.Version, c.Initial); err != nil {
			return fmt.Errorf("mark sale %s loaded: %w", sale.ID, err)
		}
		slog.WarnContext(ctx, "the database had forgotten that a sale was loaded", "sale", sale.ID, "partition", partition)
	}
	return nil
}

// learnTerms gives a sale what operators had decided about it and the units that they had added. Both come into the
// database first, so a Redis of a later version, or with more units, has seen a commit that is lost; and without that
// version what is decided next would count for an older one there. Challenges are not in Redis.
func learnTerms(
	ctx context.Context, from SaleStore, inventory Inventory, sale *Sale, has Counters,
) (added int64, edited bool, err error) {
	if !has.Loaded {
		return 0, false, nil
	}
	if has.Added > sale.Added {
		if added, err = from.RestoreAdded(ctx, sale.ID, has.Added); err != nil {
			return 0, false, err
		}
	}
	if has.Version > sale.Version {
		terms, err := inventory.Terms(ctx, sale.Ref())
		if err != nil {
			return added, false, err
		}
		if edited, err = from.RestoreTerms(ctx, sale.ID, terms); err != nil {
			return added, false, err
		}
	}
	if added > 0 || edited {
		slog.WarnContext(ctx, "the database had forgotten what operators did to a sale", "sale", sale.ID, "added", added,
			"edited", edited)
	}
	return added, edited, nil
}

// learn gives a database what only the Redis of a partition knows that is about to be made anew: orders of it are
// written before it is, and need the units.
func (r *Rebuild) learn(ctx context.Context, partition int, epoch int64) error {
	if err := learnLoaded(ctx, r.Sales, r.Inventory, partition, epoch); err != nil {
		return err
	}
	sales, err := r.Sales.LoadedSales(ctx, partition)
	if err != nil {
		return fmt.Errorf("list loaded sales: %w", err)
	}
	counters, err := r.Inventory.Counters(ctx, refsOf(pointers(sales)))
	if err != nil {
		return fmt.Errorf("read counters of loaded sales: %w", err)
	}
	for i := range sales {
		if _, _, err := learnTerms(ctx, r.Sales, r.Inventory, &sales[i], counters[i]); err != nil {
			return fmt.Errorf("sale %s: %w", sales[i].ID, err)
		}
	}
	return nil
}
