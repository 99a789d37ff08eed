package faults

import (
	"context"

	"stampede/app/order"
	"stampede/app/ports"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// Inventory puts a fault before an inventory.
func Inventory(to ports.Inventory, f Fault) ports.Inventory { return inventory{to, f} }

type inventory struct {
	ports.Inventory
	f Fault
}

func (i inventory) Now(ctx context.Context) (shop.Millis, error) {
	return through(ctx, i.f, "Inventory.Now", func() (shop.Millis, error) { return i.Inventory.Now(ctx) })
}

func (i inventory) Create(ctx context.Context, epoch int64, s shop.SaleState) error {
	return i.f(ctx, "Inventory.Create", func() error { return i.Inventory.Create(ctx, epoch, s) })
}

func (i inventory) Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error {
	return i.f(ctx, "Inventory.Arm", func() error { return i.Inventory.Arm(ctx, epoch, sale) })
}

func (i inventory) Return(ctx context.Context, r []shop.Return) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Return", func() ([]bool, error) { return i.Inventory.Return(ctx, r) })
}

func (i inventory) Sell(ctx context.Context, s []shop.SoldHold) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Sell", func() ([]bool, error) { return i.Inventory.Sell(ctx, s) })
}

func (i inventory) Withdraw(ctx context.Context, s []shop.SoldHold) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Withdraw", func() ([]bool, error) { return i.Inventory.Withdraw(ctx, s) })
}

func (i inventory) Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error) {
	return through(ctx, i.f, "Inventory.Hold", func() (shop.Verdict, error) { return i.Inventory.Hold(ctx, h) })
}

func (i inventory) Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error {
	return i.f(ctx, "Inventory.Schedule", func() error { return i.Inventory.Schedule(ctx, partition, deadlines) })
}

func (i inventory) Finish(
	ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	return i.f(ctx, "Inventory.Finish",
		func() error { return i.Inventory.Finish(ctx, partition, asOf, rows, entries) })
}

// Notifier puts a fault before a notifier.
func Notifier(to order.Notifier, f Fault) order.Notifier { return notifier{to, f} }

type notifier struct {
	order.Notifier
	f Fault
}

func (n notifier) Publish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order) error {
	return n.f(ctx, "Notifier.Publish", func() error { return n.Notifier.Publish(ctx, partition, asOf, rows) })
}

// Recovery puts a fault before what a recovery changes in Redis.
func Recovery(to recovery.Redis, f Fault) recovery.Redis { return recovering{to, f} }

type recovering struct {
	recovery.Redis
	f Fault
}

func (r recovering) Close(
	ctx context.Context, partition int, claim int64, lost bool, history string, h shop.DatabaseHistory,
) error {
	return r.f(ctx, "Recovery.Close", func() error { return r.Redis.Close(ctx, partition, claim, lost, history, h) })
}

func (r recovering) Restore(ctx context.Context, claim int64, s shop.SaleState) error {
	return r.f(ctx, "Recovery.Restore", func() error { return r.Redis.Restore(ctx, claim, s) })
}

func (r recovering) SetAside(ctx context.Context, claim int64, e *shop.Entry, reason string) (bool, error) {
	return through(ctx, r.f, "Recovery.SetAside",
		func() (bool, error) { return r.Redis.SetAside(ctx, claim, e, reason) })
}

func (r recovering) Stick(ctx context.Context, claim int64, sale shop.SaleRef, reason string) error {
	return r.f(ctx, "Recovery.Stick", func() error { return r.Redis.Stick(ctx, claim, sale, reason) })
}

func (r recovering) Open(
	ctx context.Context, partition int, claim, seq int64, rebuilt bool, h shop.DatabaseHistory,
) error {
	return r.f(ctx, "Recovery.Open", func() error { return r.Redis.Open(ctx, partition, claim, seq, rebuilt, h) })
}
