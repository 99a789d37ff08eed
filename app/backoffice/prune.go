package backoffice

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// refundWindow is the period in which Alipay refunds a payment: three months (alipay.trade.refund, "Use case").
	// No younger order is deleted.
	refundWindow = 92 * 24 * time.Hour
	// pruneBatch is the number of orders that one transaction locks for some milliseconds.
	pruneBatch = 200
	// pruneWindow is the number of orders that one query checks: the maximum of ids in a statement of the store.
	pruneWindow = 500
)

// Pruned lists the files with the deleted orders; in a dry run, the orders that the command would delete, by month.
type Pruned struct {
	Before  string       `json:"before"` // day in the time zone of the shop
	DryRun  bool         `json:"dry_run"`
	Files   []ExportFile `json:"files"`
	Deleted int          `json:"deleted"`
}

// Pruner deletes settled orders of sales that closed long ago (I1), after it has written them to files:
//
//	files of the folder ─▶ new files, one per month ─▶ journal ─▶ 200 orders of the files per transaction
//
// Only an order in a file whose checksum is in the journal is deleted. After a crash at any point a repeated command
// continues: it finds its files in the folder.
type Pruner struct {
	Store *store.Store
	Zone  *time.Location // of days, months and times
	// Progress reports a completed step to the operator.
	Progress func(step string)
}

// Prune deletes the settled orders of sales that closed before the day. An order that changed on this day or later
// stays. A dry run only counts. BadRequest: the day is younger than the refund window. If it fails with Busy, a
// repeated command continues.
func (p *Pruner) Prune(
	ctx context.Context, actor journal.Actor, before time.Time, folder string,
) (Pruned, error) {
	now, err := p.Store.Clock(ctx)
	if err != nil {
		return Pruned{}, shop.Unavailable("orders", err)
	}
	if latest := now.At.Add(-refundWindow); shop.MillisOf(before) > latest {
		return Pruned{}, shop.Failf(shop.BadRequest, "%s is less than 92 days ago, and Alipay refunds for three months: "+
			"the latest day is %s", before.Format(time.DateOnly), latest.Time().In(p.Zone).Format(time.DateOnly))
	}
	plan := Pruned{Before: before.Format(time.DateOnly), DryRun: actor.DryRun}
	plan.Files, err = p.export(ctx, shop.MillisOf(before), folder, actor.DryRun)
	if err != nil || actor.DryRun || len(plan.Files) == 0 {
		return plan, err
	}
	result, err := store.RunOperationFor[Pruned](ctx, p.Store, actor, func(*store.Store) (journal.Operation, error) {
		return journal.Operation{Kind: "order.prune", Object: "orders", After: plan, Result: plan}, nil
	})
	if err != nil {
		return plan, err
	}
	for _, file := range result.Files {
		n, err := p.deleteOrders(ctx, shop.MillisOf(before), filepath.Join(folder, file.Name), file.SHA256)
		result.Deleted += n
		if err != nil {
			return result, err
		}
		p.Progress(fmt.Sprintf("%s: deleted %d orders", file.Name, n))
	}
	return result, nil
}

// export writes the orders that may be deleted to one new file per month, except those in a file of the folder, and
// returns the new files and the earlier ones with such orders.
func (p *Pruner) export(
	ctx context.Context, before shop.Millis, folder string, dryRun bool,
) ([]ExportFile, error) {
	earlier, err := readFolder(folder)
	if err != nil {
		return nil, err
	}
	months := make(map[string]*exportWriter)
	defer func() {
		for _, w := range months {
			w.discard()
		}
	}()
	for after := shop.ID(0); ; {
		found, last, err := p.Store.OldOrders().PrunableOrders(ctx, before, after, pruneWindow)
		if err != nil {
			return nil, shop.Unavailable("orders", err)
		}
		for i := range found {
			o := &found[i]
			if earlier.count(o) {
				continue
			}
			month := o.CreatedAt.Time().In(p.Zone).Format("2006-01")
			if months[month] == nil {
				if months[month], err = newExportWriter(folder, month, p.Zone, dryRun); err != nil {
					return nil, err
				}
			}
			if err := months[month].add(o); err != nil {
				return nil, err
			}
		}
		if last == 0 {
			break
		}
		after = last
	}
	files := earlier.withOrders()
	for _, month := range slices.Sorted(maps.Keys(months)) {
		file, err := months[month].finish()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		p.Progress(fmt.Sprintf("%s: %d orders of %s", file.Name, file.Orders, file.Month))
	}
	return files, nil
}

// deleteOrders deletes the orders of a file in short transactions, with pauses of the same length.
func (p *Pruner) deleteOrders(ctx context.Context, before shop.Millis, path, checksum string) (deleted int, err error) {
	ids, sum, err := readExport(path)
	switch {
	case err != nil:
		return 0, err
	case sum != checksum:
		return 0, fmt.Errorf("%s has changed since its checksum was written to the journal: restore the file", path)
	}
	for batch := range slices.Chunk(ids, pruneBatch) {
		began := time.Now()
		n, err := p.Store.OldOrders().PruneOrders(ctx, before, batch)
		if deleted += n; err != nil {
			return deleted, shop.Unavailable("orders", err)
		}
		if !shop.Sleep(ctx, time.Since(began)) {
			return deleted, ctx.Err()
		}
	}
	return deleted, nil
}
