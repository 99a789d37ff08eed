package server

import (
	"context"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

// PruneOrders writes the settled orders of sales that closed before the day to files, and deletes the orders. The day
// is a date such as 2026-01-31 in the time zone of the shop.
func (t *Tools) PruneOrders(
	ctx context.Context, day, folder string, progress func(step string),
) (backoffice.Pruned, error) {
	before, err := time.ParseInLocation(time.DateOnly, day, t.config.TimeZone.Location)
	if err != nil {
		return backoffice.Pruned{}, shop.Failf(shop.BadRequest, "invalid day %q: want a day such as 2026-01-31", day)
	}
	if err := t.ensureMigrated(ctx); err != nil {
		return backoffice.Pruned{}, err
	}
	p := backoffice.Pruner{Store: t.stores.db, Zone: t.config.TimeZone.Location, Progress: progress}
	return p.Prune(ctx, t.Actor, before, folder)
}
