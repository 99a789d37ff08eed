package server

import (
	"context"

	"stampede/app"
)

// OrderSearch is what of the orders somebody wants to see.
type OrderSearch = app.OrderSearch

// Ship enters the parcel of an order.
func (t *Tools) Ship(ctx context.Context, p app.Parcel, replace bool) (app.Order, error) {
	desk, err := t.shippingDesk(ctx)
	if err != nil {
		return app.Order{}, err
	}
	return desk.Ship(ctx, t.actor, p, replace)
}

// ShipMany enters the parcels of a CSV file.
func (t *Tools) ShipMany(ctx context.Context, file []byte, replace, dryRun bool) (app.ShipReport, error) {
	desk, err := t.shippingDesk(ctx)
	if err != nil {
		return app.ShipReport{}, err
	}
	return desk.ShipMany(ctx, t.actor, file, replace, dryRun)
}

func (t *Tools) shippingDesk(ctx context.Context) (*app.ShippingDesk, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	db := t.stores.db
	return &app.ShippingDesk{
		Inventory: inventory, Orders: db, Shipments: db, Journal: t.journal(), FinishAfter: t.config.FinishAfter,
		Effects: &app.Effects{Inventory: inventory, Notifier: inventory, Orders: db, Told: t.told},
	}, nil
}

// SearchOrders finds orders; text is the number of an order or a trade, a user's id, or an e-mail.
func (t *Tools) SearchOrders(ctx context.Context, q OrderSearch, text string) ([]app.Order, error) {
	if err := t.prepared(ctx); err != nil {
		return nil, err
	}
	orders, _, err := t.searchDesk().SearchOrders(ctx, q, text)
	return orders, err
}

// SearchUsers finds accounts; text is an id, a name, or the beginning of an e-mail.
func (t *Tools) SearchUsers(ctx context.Context, text string, limit int) ([]UserSummary, error) {
	if err := t.prepared(ctx); err != nil {
		return nil, err
	}
	users, _, err := t.searchDesk().SearchUsers(ctx, app.UserSearch{Limit: limit}, text)
	out := make([]UserSummary, len(users))
	for i := range users {
		out[i] = summaryOf(&users[i])
	}
	return out, err
}

// SearchPayments finds payments; text is the number of a trade or of an order.
func (t *Tools) SearchPayments(
	ctx context.Context, outcome app.PaymentOutcome, text string, limit int,
) ([]app.Received, error) {
	if err := t.prepared(ctx); err != nil {
		return nil, err
	}
	payments, _, err := t.searchDesk().SearchPayments(ctx, app.PaymentSearch{Outcome: outcome, Limit: limit}, text)
	return payments, err
}

func (t *Tools) searchDesk() *app.SearchDesk {
	db := t.stores.db
	return &app.SearchDesk{Search: t.stores.shows(), Users: db, Devices: db, Blocks: db, Clock: app.NewClock()}
}

// SaleReport says what became of a sale.
func (t *Tools) SaleReport(ctx context.Context, sale app.ID) (app.SaleReport, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return app.SaleReport{}, err
	}
	db := t.stores.db
	desk := &app.ReportDesk{
		Sums: t.stores.shows(), Figures: inventory,
		Auditor: &app.Auditor{Inventory: inventory, Orders: db, Sales: db}, Clock: app.NewClock(),
	}
	return desk.SaleReport(ctx, sale)
}
