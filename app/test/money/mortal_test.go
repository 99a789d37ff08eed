package money

import (
	"context"
	"fmt"
	"sync"

	"stampede/app/order"
	"stampede/app/ports"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/faults"
	"stampede/streams"
)

// errDied is all that a dead process hears.
var errDied = fmt.Errorf("%w: this process is dead", shop.ErrTransient)

// mortal is a process that dies after its n-th call of a port: that one has its effect, but nobody hears the answer,
// and no later one has any.
type mortal struct {
	mu   sync.Mutex
	left int
	died bool
}

func (m *mortal) dead() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.died
}

// lives counts a call that was made.
func (m *mortal) lives() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	m.died = m.died || m.left == 0
	return !m.died
}

// fault is what comes between this process and its ports.
func (m *mortal) fault(_ context.Context, _ string, call func() error) error {
	if m.dead() {
		return errDied
	}
	err := call()
	if !m.lives() {
		return errDied
	}
	return err
}

// ports are what a process sees of the world.
type storePorts struct {
	m         *mortal
	inventory *streams.Inventory
	db        *store.Store
	gateway   ports.Gateway
	notifier  order.Notifier
}

func (p storePorts) Inventory() ports.Inventory {
	return faults.Inventory(overheard{p.inventory, p.notifier}, p.m.fault)
}

func (p storePorts) Redis() recovery.Redis        { return faults.Recovery(p.inventory, p.m.fault) }
func (p storePorts) Orders() ports.OrderStore     { return faults.Orders(p.db, p.m.fault) }
func (p storePorts) Sales() ports.SaleStore       { return faults.Sales(p.db, p.m.fault) }
func (p storePorts) Payments() ports.PaymentStore { return faults.Payments(p.db, p.m.fault) }
func (p storePorts) Refunds() ports.RefundStore   { return faults.Refunds(p.db, p.m.fault) }
func (p storePorts) Gateway() ports.Gateway       { return faults.Gateway(p.gateway, p.m.fault) }
func (p storePorts) Notifier() order.Notifier     { return faults.Notifier(p.notifier, p.m.fault) }

// overheard is an inventory of which the buyers hear what Finish publishes.
type overheard struct {
	ports.Inventory
	told order.Notifier
}

func (o overheard) Finish(
	ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	if err := o.Inventory.Finish(ctx, partition, asOf, rows, entries); err != nil {
		return err
	}
	return o.told.Publish(ctx, partition, asOf, rows)
}
