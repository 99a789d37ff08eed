package server

import (
	"context"

	"stampede/app"
)

// Redo gives the database back what it lacks of what the stream and the holds in Redis know. On a database that lacks
// nothing it changes nothing.
func (t *Tools) Redo(ctx context.Context) (app.RedoReport, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return app.RedoReport{}, err
	}
	gateway, err := t.config.gateway()
	if err != nil {
		return app.RedoReport{}, err
	}
	if err := t.note(ctx, app.Act{Kind: "database.redo", Object: "database"}); err != nil {
		return app.RedoReport{}, err
	}
	db := t.stores.db
	effects := &app.Effects{Inventory: inventory, Notifier: inventory, Orders: db, Told: t.told}
	redo := &app.Redo{
		Partitions: t.config.Partitions, Database: db, Redis: inventory, Inventory: inventory, Orders: db, Sales: db,
		Fulfiller: &app.Fulfiller{
			Catalogue: app.NewCatalogue(db, newIDFilter, t.config.TimeZone.Location), Inventory: inventory, Orders: db,
			Effects: effects, PayWindow: t.config.PayWindow,
		},
		Cashier: &app.Cashier{
			Gateway: gateway, Inventory: inventory, Orders: db, Sales: db, Payments: db, Refunds: db, Effects: effects,
			Margin: app.TradeMargin(t.config.PayWindow),
		},
	}
	return redo.All(ctx)
}
