package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// importFacts imports from Redis the facts about sales that the database has lost, and lists the loaded sales. It never
// replaces a newer value. The facts are: the loaded mark, the terms set by operators, and the units added by operators.
// Each of these is committed in the database first, so a newer value in Redis proves a lost commit. Challenges are not
// in Redis. compare checks withdrawals at the end.
func (rr *recoveryRun) importFacts(ctx context.Context) error {
	if err := rr.importLoaded(ctx); err != nil {
		return err
	}
	sales, err := rr.Store.Sales().LoadedSales(ctx, rr.partition)
	if err != nil {
		return fmt.Errorf("list loaded sales: %w", err)
	}
	counters, err := rr.Redis.Stock().Counters(ctx, refsOf(sales))
	if err != nil {
		return fmt.Errorf("read counters of loaded sales: %w", err)
	}
	changed := false
	for i := range sales {
		imported, err := rr.importTerms(ctx, &sales[i], counters[i])
		if err != nil {
			return fmt.Errorf("sale %s: %w", sales[i].ID, err)
		}
		changed = changed || imported
	}
	if changed {
		sales, err = rr.Store.Sales().LoadedSales(ctx, rr.partition)
	}
	rr.sales = sales
	return err
}

// importLoaded marks sales as loaded that are loaded only in Redis. A sale with tickets was armed, and it was marked
// before that. A sale without tickets counts if its version is at least that of the database (see catalog.Warmer).
func (rr *recoveryRun) importLoaded(ctx context.Context) error {
	sales, err := rr.Store.Sales().UnloadedSales(ctx, rr.partition, rr.closedAt)
	if err != nil {
		return err
	}
	counters, err := rr.Redis.Stock().Counters(ctx, refsOf(sales))
	if err != nil {
		return fmt.Errorf("list sales that were not loaded: %w", err)
	}
	for i, c := range counters {
		sale := &sales[i]
		if !c.Loaded || c.Tickets == 0 && c.Version < sale.Version {
			continue
		}
		if err := rr.beginDoubt(ctx); err != nil {
			return err
		}
		if err := rr.Store.Sales().RestoreLoaded(ctx, sale.ID, rr.claim, sale.Version, c.Initial); err != nil {
			return fmt.Errorf("mark sale %s loaded: %w", sale.ID, err)
		}
		rr.report.Imported++
		slog.WarnContext(ctx, "restored a sale's loaded mark that the database had lost", "sale", sale.ID,
			"partition", rr.partition)
	}
	return nil
}

// importTerms imports the terms and the added units of a sale that the database has lost. Without the version of the
// terms, the next edit would reuse an older version in Redis.
func (rr *recoveryRun) importTerms(
	ctx context.Context, sale *shop.Sale, counters shop.Counters,
) (imported bool, err error) {
	if !counters.Loaded {
		return false, nil
	}
	added, edited := int64(0), false
	if counters.Added > sale.Added || counters.Version > sale.Version {
		if err := rr.beginDoubt(ctx); err != nil {
			return false, err
		}
	}
	if counters.Added > sale.Added {
		if added, err = rr.Store.Sales().RestoreAdded(ctx, sale.ID, counters.Added); err != nil {
			return false, err
		}
	}
	if counters.Version > sale.Version {
		terms, err := rr.Redis.Stock().Terms(ctx, sale.Ref())
		if err != nil {
			return false, err
		}
		if edited, err = rr.Store.Sales().RestoreTerms(ctx, sale.ID, terms); err != nil {
			return false, err
		}
	}
	if added > 0 || edited {
		rr.report.Imported++
		slog.WarnContext(ctx, "restored changes to a sale that the database had lost", "sale", sale.ID, "added", added,
			"edited", edited)
	}
	return added > 0 || edited, nil
}
