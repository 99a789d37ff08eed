package money

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stampede/app"
	"stampede/app/store"
	"stampede/streams"
)

// errDied is all that a dead process hears.
var errDied = fmt.Errorf("%w: this process is dead", app.ErrTransient)

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

// through makes a call of a port.
func through[T any](m *mortal, call func() (T, error)) (T, error) {
	var nothing T
	if m.dead() {
		return nothing, errDied
	}
	v, err := call()
	if !m.lives() {
		return nothing, errDied
	}
	return v, err
}

func do(m *mortal, call func() error) error {
	_, err := through(m, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// ports are what a process sees of the world.
type ports struct {
	m         *mortal
	inventory *streams.Inventory
	db        *store.Store
	gateway   app.Gateway
	notifier  app.Notifier
}

func (p ports) Inventory() app.Inventory   { return mortalInventory{p.inventory, p.notifier, p.m} }
func (p ports) Redis() app.Rebuilder       { return mortalRedis{p.inventory, p.m} }
func (p ports) Orders() app.OrderStore     { return mortalOrders{p.db, p.m} }
func (p ports) Sales() app.SaleStore       { return mortalSales{p.db, p.m} }
func (p ports) Payments() app.PaymentStore { return mortalPayments{p.db, p.m} }
func (p ports) Refunds() app.RefundStore   { return mortalRefunds{p.db, p.m} }
func (p ports) Gateway() app.Gateway       { return mortalGateway{p.gateway, p.m} }
func (p ports) Notifier() app.Notifier     { return mortalNotifier{p.notifier, p.m} }

type mortalInventory struct {
	app.Inventory
	told app.Notifier // hears what Finish tells
	m    *mortal
}

func (l mortalInventory) Finish(
	ctx context.Context, partition int, asOf app.Millis, rows []*app.Order, entries []*app.Entry,
) error {
	return do(l.m, func() error {
		if err := l.Inventory.Finish(ctx, partition, asOf, rows, entries); err != nil {
			return err
		}
		return l.told.Publish(ctx, partition, asOf, rows)
	})
}

func (l mortalInventory) Now(ctx context.Context) (app.Millis, error) {
	return through(l.m, func() (app.Millis, error) { return l.Inventory.Now(ctx) })
}

func (l mortalInventory) Return(ctx context.Context, r []app.Return) ([]bool, error) {
	return through(l.m, func() ([]bool, error) { return l.Inventory.Return(ctx, r) })
}

func (l mortalInventory) Sell(ctx context.Context, s []app.SoldHold) ([]bool, error) {
	return through(l.m, func() ([]bool, error) { return l.Inventory.Sell(ctx, s) })
}

func (l mortalInventory) Withdraw(ctx context.Context, s []app.SoldHold) ([]bool, error) {
	return through(l.m, func() ([]bool, error) { return l.Inventory.Withdraw(ctx, s) })
}

func (l mortalInventory) Hold(ctx context.Context, h app.HoldRequest) (app.Verdict, error) {
	return through(l.m, func() (app.Verdict, error) { return l.Inventory.Hold(ctx, h) })
}

type mortalRedis struct {
	app.Rebuilder
	m *mortal
}

func (r mortalRedis) Pause(ctx context.Context, partition int) error {
	return do(r.m, func() error { return r.Rebuilder.Pause(ctx, partition) })
}

func (r mortalRedis) Restore(ctx context.Context, epoch int64, s app.SaleState) error {
	return do(r.m, func() error { return r.Rebuilder.Restore(ctx, epoch, s) })
}

func (r mortalRedis) Resume(ctx context.Context, partition int, epoch, seq int64) error {
	return do(r.m, func() error { return r.Rebuilder.Resume(ctx, partition, epoch, seq) })
}

type mortalOrders struct {
	app.OrderStore
	m *mortal
}

func (b mortalOrders) Expire(ctx context.Context, ids []app.ID, now app.Millis) ([]app.Order, error) {
	return through(b.m, func() ([]app.Order, error) { return b.OrderStore.Expire(ctx, ids, now) })
}

func (b mortalOrders) Cancel(ctx context.Context, order, user app.ID, now app.Millis) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.OrderStore.Cancel(ctx, order, user, now) })
}

func (b mortalOrders) ClaimHold(ctx context.Context, order app.ID, in app.OrderState) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.OrderStore.ClaimHold(ctx, order, in) })
}

func (b mortalOrders) Order(ctx context.Context, id app.ID) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.OrderStore.Order(ctx, id) })
}

func (b mortalOrders) OrdersOfSale(ctx context.Context, sale, after app.ID, limit int) ([]app.Order, error) {
	return through(b.m, func() ([]app.Order, error) { return b.OrderStore.OrdersOfSale(ctx, sale, after, limit) })
}

type mortalSales struct {
	app.SaleStore
	m *mortal
}

func (b mortalSales) Sale(ctx context.Context, id app.ID) (app.Sale, error) {
	return through(b.m, func() (app.Sale, error) { return b.SaleStore.Sale(ctx, id) })
}

func (b mortalSales) AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error) {
	return through(b.m, func() (int64, error) { return b.SaleStore.AdvanceEpoch(ctx, partition, above) })
}

func (b mortalOrders) Revive(ctx context.Context, claimed app.Order, epoch int64, payBy app.Millis) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.OrderStore.Revive(ctx, claimed, epoch, payBy) })
}

type mortalPayments struct {
	app.PaymentStore
	m *mortal
}

func (b mortalPayments) OpenTrade(
	ctx context.Context, order, user app.ID, now app.Millis, margin time.Duration,
) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.PaymentStore.OpenTrade(ctx, order, user, now, margin) })
}

func (b mortalPayments) Receive(
	ctx context.Context, t app.Trade, now app.Millis,
) (o app.Order, outcome app.PaymentOutcome, err error) {
	err = do(b.m, func() error {
		o, outcome, err = b.PaymentStore.Receive(ctx, t, now)
		return err
	})
	if errors.Is(err, errDied) {
		return app.Order{}, "", err
	}
	return o, outcome, err
}

func (b mortalPayments) ReviveLate(
	ctx context.Context, claimed app.Order, epoch int64, now app.Millis,
) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.PaymentStore.ReviveLate(ctx, claimed, epoch, now) })
}

func (b mortalPayments) Resolve(ctx context.Context, order app.ID, outcome app.PaymentOutcome) error {
	return do(b.m, func() error { return b.PaymentStore.Resolve(ctx, order, outcome) })
}

func (b mortalPayments) EndTraded(
	ctx context.Context, ids []app.ID, to app.OrderState, now app.Millis,
) ([]app.Order, error) {
	return through(b.m, func() ([]app.Order, error) { return b.PaymentStore.EndTraded(ctx, ids, to, now) })
}

func (b mortalPayments) CheckTrades(ctx context.Context, now app.Millis, next map[app.ID]app.Millis) error {
	return do(b.m, func() error { return b.PaymentStore.CheckTrades(ctx, now, next) })
}

type mortalRefunds struct {
	app.RefundStore
	m *mortal
}

func (b mortalRefunds) BeginRefund(
	ctx context.Context, order app.ID, from []app.OrderState, request, reason string, now app.Millis,
) (app.Order, error) {
	return through(b.m,
		func() (app.Order, error) { return b.RefundStore.BeginRefund(ctx, order, from, request, reason, now) })
}

func (b mortalRefunds) AskRefund(ctx context.Context, ask app.RefundAsk) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.RefundStore.AskRefund(ctx, ask) })
}

func (b mortalRefunds) DecideRefund(ctx context.Context, d app.RefundDecision) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.RefundStore.DecideRefund(ctx, d) })
}

func (b mortalRefunds) ClaimRefunds(ctx context.Context, now app.Millis, limit int) ([]app.Refund, error) {
	return through(b.m, func() ([]app.Refund, error) { return b.RefundStore.ClaimRefunds(ctx, now, limit) })
}

func (b mortalRefunds) NoteRefund(ctx context.Context, order app.ID, note string, stuck bool) error {
	return do(b.m, func() error { return b.RefundStore.NoteRefund(ctx, order, note, stuck) })
}

func (b mortalRefunds) FinishRefund(ctx context.Context, order app.ID, now app.Millis) (app.Order, error) {
	return through(b.m, func() (app.Order, error) { return b.RefundStore.FinishRefund(ctx, order, now) })
}

type mortalGateway struct {
	app.Gateway
	m *mortal
}

func (g mortalGateway) Pay(ctx context.Context, r app.PayRequest) (app.Payment, error) {
	return through(g.m, func() (app.Payment, error) { return g.Gateway.Pay(ctx, r) })
}

func (g mortalGateway) Query(ctx context.Context, order app.ID) (app.Trade, error) {
	return through(g.m, func() (app.Trade, error) { return g.Gateway.Query(ctx, order) })
}

func (g mortalGateway) Close(ctx context.Context, order app.ID) (app.Trade, error) {
	return through(g.m, func() (app.Trade, error) { return g.Gateway.Close(ctx, order) })
}

func (g mortalGateway) Refund(ctx context.Context, r app.RefundRequest) error {
	return do(g.m, func() error { return g.Gateway.Refund(ctx, r) })
}

func (g mortalGateway) Refunded(ctx context.Context, r app.RefundRequest) (bool, error) {
	return through(g.m, func() (bool, error) { return g.Gateway.Refunded(ctx, r) })
}

type mortalNotifier struct {
	app.Notifier
	m *mortal
}

func (t mortalNotifier) Publish(ctx context.Context, partition int, asOf app.Millis, rows []*app.Order) error {
	return do(t.m, func() error { return t.Notifier.Publish(ctx, partition, asOf, rows) })
}
