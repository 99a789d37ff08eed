package app

import (
	"context"
	"fmt"
	"log/slog"
)

// learnLoaded marks sales as loaded of which only Redis knows that they are: a database that was promoted, or restored
// from a backup, may have forgotten it, and would take no order of theirs. Whatever has sold was armed, and was marked
// before that; what has sold nothing counts if it is as the database has it (see Warmer).
func learnLoaded(ctx context.Context, from SaleStore, inventory Inventory, partition int, epoch int64) error {
	at, err := inventory.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	sales, err := from.UnloadedSales(ctx, partition, at)
	if err != nil {
		return err
	}
	refs := make([]SaleRef, len(sales))
	for i := range sales {
		refs[i] = sales[i].Ref()
	}
	counters, err := inventory.Counters(ctx, refs)
	if err != nil {
		return fmt.Errorf("look for sales that were not loaded: %w", err)
	}
	for i, c := range counters {
		if !c.Loaded || c.Tickets == 0 && c.Version != sales[i].Version {
			continue
		}
		if err := from.MarkLoaded(ctx, sales[i].ID, epoch, sales[i].Version); err != nil {
			return fmt.Errorf("mark sale %s loaded: %w", sales[i].ID, err)
		}
		slog.WarnContext(ctx, "the database had forgotten that a sale was loaded", "sale", sales[i].ID, "partition", partition)
	}
	return nil
}
