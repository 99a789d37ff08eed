package server

import (
	"stampede/app"
	"stampede/app/store"
	"stampede/streams"
)

// ports are Redis, the database and the gateway as the flows see them. A build for the crash suite puts faults in
// between (crash_on.go).
type ports struct {
	inventory app.Inventory
	notifier  app.Notifier
	rebuilder app.Rebuilder
	orders    app.OrderStore
	sales     app.SaleStore
	payments  app.PaymentStore
	refunds   app.RefundStore
	outbox    app.OutboxStore
	paid      app.OutboxStream
	gateway   app.Gateway // nil: nothing can be paid
}

func newPorts(
	db *store.Store, inventory *streams.Inventory, paid *streams.PaidStream, gateway app.Gateway,
) ports {
	return withFaults(ports{
		inventory: inventory, notifier: inventory, rebuilder: inventory,
		orders: db, sales: db, payments: db, refunds: db, outbox: db,
		paid: paid, gateway: gateway,
	})
}
