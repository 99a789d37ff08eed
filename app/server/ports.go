package server

import (
	"stampede/app"
	"stampede/app/recovery"
	"stampede/app/store"
	"stampede/streams"
)

// ports are Redis, the database and the gateway as the flows see them. A build for the crash suite puts faults in
// between (crash_on.go).
type storePorts struct {
	inventory app.Inventory
	notifier  app.Notifier
	recovery  recovery.Redis
	acts      app.ActStore
	orders    app.OrderStore
	sales     app.SaleStore
	editor    app.SaleEditor
	keeper    app.SaleKeeper
	payments  app.PaymentStore
	refunds   app.RefundStore
	shipments app.ShipmentStore
	outbox    app.OutboxStore
	archive   app.ArchiveStore
	paid      app.OutboxStream
	gateway   app.Gateway // nil: nothing can be paid
}

func newPorts(db *store.Store, redis *streams.Inventory, paid *streams.PaidStream, gateway app.Gateway) storePorts {
	return withFaults(storePorts{
		inventory: redis, notifier: redis, recovery: redis, keeper: redis, paid: paid, gateway: gateway,
		acts: db, orders: db, sales: db, editor: db, payments: db, refunds: db, shipments: db, outbox: db, archive: db,
	})
}
