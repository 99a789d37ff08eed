package faults

import (
	"context"

	"stampede/app"
	"stampede/app/recovery"
)

// Inventory puts a fault before an inventory.
func Inventory(to app.Inventory, f Fault) app.Inventory { return inventory{to, f} }

type inventory struct {
	app.Inventory
	f Fault
}

func (i inventory) Now(ctx context.Context) (app.Millis, error) {
	return through(ctx, i.f, "Inventory.Now", func() (app.Millis, error) { return i.Inventory.Now(ctx) })
}

func (i inventory) Create(ctx context.Context, epoch int64, s app.SaleState) error {
	return i.f(ctx, "Inventory.Create", func() error { return i.Inventory.Create(ctx, epoch, s) })
}

func (i inventory) Arm(ctx context.Context, epoch int64, sale app.SaleRef) error {
	return i.f(ctx, "Inventory.Arm", func() error { return i.Inventory.Arm(ctx, epoch, sale) })
}

func (i inventory) Return(ctx context.Context, r []app.Return) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Return", func() ([]bool, error) { return i.Inventory.Return(ctx, r) })
}

func (i inventory) Sell(ctx context.Context, s []app.SoldHold) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Sell", func() ([]bool, error) { return i.Inventory.Sell(ctx, s) })
}

func (i inventory) Withdraw(ctx context.Context, s []app.SoldHold) ([]bool, error) {
	return through(ctx, i.f, "Inventory.Withdraw", func() ([]bool, error) { return i.Inventory.Withdraw(ctx, s) })
}

func (i inventory) Hold(ctx context.Context, h app.HoldRequest) (app.Verdict, error) {
	return through(ctx, i.f, "Inventory.Hold", func() (app.Verdict, error) { return i.Inventory.Hold(ctx, h) })
}

func (i inventory) Schedule(ctx context.Context, partition int, deadlines []app.Deadline) error {
	return i.f(ctx, "Inventory.Schedule", func() error { return i.Inventory.Schedule(ctx, partition, deadlines) })
}

func (i inventory) Finish(
	ctx context.Context, partition int, asOf app.Millis, rows []*app.Order, entries []*app.Entry,
) error {
	return i.f(ctx, "Inventory.Finish",
		func() error { return i.Inventory.Finish(ctx, partition, asOf, rows, entries) })
}

// Notifier puts a fault before a notifier.
func Notifier(to app.Notifier, f Fault) app.Notifier { return notifier{to, f} }

type notifier struct {
	app.Notifier
	f Fault
}

func (n notifier) Publish(ctx context.Context, partition int, asOf app.Millis, rows []*app.Order) error {
	return n.f(ctx, "Notifier.Publish", func() error { return n.Notifier.Publish(ctx, partition, asOf, rows) })
}

// Recovery puts a fault before what a recovery changes in Redis.
func Recovery(to recovery.Redis, f Fault) recovery.Redis { return recovering{to, f} }

type recovering struct {
	recovery.Redis
	f Fault
}

func (r recovering) Close(
	ctx context.Context, partition int, claim int64, lost bool, history string, h app.DatabaseHistory,
) error {
	return r.f(ctx, "Recovery.Close", func() error { return r.Redis.Close(ctx, partition, claim, lost, history, h) })
}

func (r recovering) Restore(ctx context.Context, claim int64, s app.SaleState) error {
	return r.f(ctx, "Recovery.Restore", func() error { return r.Redis.Restore(ctx, claim, s) })
}

func (r recovering) SetAside(ctx context.Context, claim int64, e *app.Entry, reason string) (bool, error) {
	return through(ctx, r.f, "Recovery.SetAside",
		func() (bool, error) { return r.Redis.SetAside(ctx, claim, e, reason) })
}

func (r recovering) Stick(ctx context.Context, claim int64, sale app.SaleRef, reason string) error {
	return r.f(ctx, "Recovery.Stick", func() error { return r.Redis.Stick(ctx, claim, sale, reason) })
}

func (r recovering) Open(
	ctx context.Context, partition int, claim, seq int64, rebuilt bool, h app.DatabaseHistory,
) error {
	return r.f(ctx, "Recovery.Open", func() error { return r.Redis.Open(ctx, partition, claim, seq, rebuilt, h) })
}
