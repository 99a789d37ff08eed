package server

import (
	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/ports"
	"stampede/app/recovery"
	"stampede/app/store"
	"stampede/streams"
)

// ports are Redis, the database and the gateway as the flows see them. A build for the crash suite puts faults in
// between (crash_on.go).
type storePorts struct {
	inventory ports.Inventory
	notifier  order.Notifier
	recovery  recovery.Redis
	acts      ports.ActStore
	orders    ports.OrderStore
	sales     ports.SaleStore
	editor    backoffice.SaleEditor
	keeper    backoffice.SaleKeeper
	payments  ports.PaymentStore
	refunds   ports.RefundStore
	shipments backoffice.ShipmentStore
	outbox    outbox.OutboxStore
	archive   archive.ArchiveStore
	paid      outbox.OutboxStream
	gateway   ports.Gateway // nil: nothing can be paid
}

func newPorts(db *store.Store, redis *streams.Inventory, paid *streams.PaidStream, gateway ports.Gateway) storePorts {
	return withFaults(storePorts{
		inventory: redis, notifier: redis, recovery: redis, keeper: redis, paid: paid, gateway: gateway,
		acts: db, orders: db, sales: db, editor: db, payments: db, refunds: db, shipments: db, outbox: db, archive: db,
	})
}
