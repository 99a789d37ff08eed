package app

import (
	"cmp"
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
	counters, err := inventory.Counters(ctx, refsOf(sales))
	if err != nil {
		return fmt.Errorf("look for sales that were not loaded: %w", err)
	}
	for i, c := range counters {
		sale := &sales[i]
		if !c.Loaded || c.Tickets == 0 && c.Version < sale.Version {
			continue
		}
		if err := from.RestoreLoaded(ctx, sale.ID, epoch, sale.Version, initialOf(sale, c)); err != nil {
			return fmt.Errorf("mark sale %s loaded: %w", sale.ID, err)
		}
		slog.WarnContext(ctx, "the database had forgotten that a sale was loaded", "sale", sale.ID, "partition", partition)
	}
	return nil
}

// initialOf are the initial units of a sale whose loading was forgotten: those that it was loaded with, since they do
// not change from then on. Those of a portion do, by moves, and units on their way are in no portion; a Redo counts
// them (Mover). Only where an edit was forgotten, too, nobody could tell them from units that an operator took away.
func initialOf(sale *Sale, has Counters) int64 {
	if sale.PortionOf != 0 && has.Version == sale.Version {
		return sale.Initial
	}
	return has.Initial
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
		if edited, err = from.RestoreTerms(ctx, cmp.Or(sale.PortionOf, sale.ID), terms); err != nil {
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
	counters, err := r.Inventory.Counters(ctx, refsOf(sales))
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

// leaveMoved leaves a portion what Redis and its row both know to be its own, where the database has forgotten a move:
// its row may have units that are with another portion. A redo, which is asked for, counts them all; until then the
// portion takes part in no move up to the last one that Redis knows.
func (r *Rebuild) leaveMoved(ctx context.Context, sale *Sale) error {
	if sale.PortionOf == 0 {
		return nil
	}
	last, forgotten, err := r.Mover.Forgotten(ctx, sale.PortionOf, sale.Ref())
	if err != nil || !forgotten {
		return err
	}
	counters, err := r.Inventory.Counters(ctx, []SaleRef{sale.Ref()})
	if err != nil {
		return fmt.Errorf("read counters of sale %s: %w", sale.ID, err)
	}
	if err := r.distrust(ctx, sale.Partition); err != nil {
		return err
	}
	slog.WarnContext(ctx, "the database had forgotten a move of units", "sale", sale.PortionOf, "portion", sale.ID,
		"has", sale.Initial, "redis", counters[0].Initial)
	sale.Initial = min(sale.Initial, counters[0].Initial)
	sale.MovedOut, sale.MovedIn = last, last
	return nil
}
