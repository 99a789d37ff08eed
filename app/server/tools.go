package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/demo"
	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/migrations"
	"stampede/realtime"
	"stampede/streams"
)

// toolWait limits the time that a command tries to reach a store.
const toolWait = 5 * time.Second

// Tools has the parts of the program for commands. With real stores, the commands work on any machine. With embedded
// stores, they need the data folder; for Redis they also need the running server.
type Tools struct {
	config       Config
	stores       stores
	publishMarks *order.PublishMarks // events that these tools published; Close marks them in the database
	Actor        journal.Actor       // recorded as the author of changes
}

// OpenTools opens the database. The caller must call Close.
func OpenTools(ctx context.Context, c Config) (*Tools, error) {
	t := &Tools{config: c, stores: stores{replicas: c.RedisReplicas}}
	if c.Embedded() {
		if err := folder(c.Data).create(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, toolWait)
	defer cancel()
	if err := t.stores.openDatabase(ctx, &t.config); err != nil {
		return nil, err
	}
	t.publishMarks = &order.PublishMarks{Store: t.stores.db.Orders()}
	return t, nil
}

// Close marks published events and closes all connections.
func (t *Tools) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), toolWait)
	defer cancel()
	return errors.Join(t.publishMarks.RunOnce(ctx), t.stores.close())
}

// Database returns the database for migrations.
func (t *Tools) Database() *bun.DB { return t.stores.db.DB() }

// Seeder returns a seeder with its own node number and a function that releases the number. An embedded database is
// migrated first.
func (t *Tools) Seeder(ctx context.Context) (*demo.Seeder, func() error, error) {
	if err := t.ensureMigrated(ctx); err != nil {
		return nil, nil, err
	}
	lease, err := t.stores.db.Nodes().LeaseNode(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("lease a node number: %w", err)
	}
	s := newSeeder(t.stores.db, lease, t.config.Partitions)
	return s, func() error { return lease.Release(context.WithoutCancel(ctx)) }, nil
}

// RollingPlan returns the missing slots of the rolling schedule for the given time.
func (t *Tools) RollingPlan(ctx context.Context, within time.Duration) ([]demo.Window, error) {
	now := shop.MillisOf(time.Now())
	existing, err := t.stores.db.Catalogue().Slots(ctx, now.Add(-time.Hour), now.Add(within+time.Hour))
	if err != nil {
		return nil, err
	}
	return demo.Rolling(existing, now, now.Add(within), demo.RollingSlot), nil
}

// DailyPlan returns the slots of STAMPEDE_SLOTS for the given days, starting today in the shop's time zone.
func (t *Tools) DailyPlan(days int) []demo.Window {
	return demo.Daily(time.Now().In(t.config.TimeZone.Location), days, t.config.Slots)
}

// inventory connects to Redis and returns the inventory with the epochs of the database.
func (t *Tools) inventory(ctx context.Context) (*streams.Inventory, error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	inventory, err := streams.New(streams.Options{
		Client: t.stores.client, Partitions: t.config.Partitions, Namespace: t.stores.namespace(),
		Frame: realtime.OrderFrame,
	})
	if err != nil {
		return nil, err
	}
	if err := prepareDatabase(ctx, t.stores.db, false, t.config.Partitions); err != nil {
		return nil, err
	}
	h, err := t.stores.db.History().Read(ctx)
	if err != nil {
		return nil, err
	}
	if h.RecoveredServer == h.Server { // revs of later states depend on the generation
		t.stores.db.History().Trust(h.Server, h.Generation)
	}
	for p := range t.config.Partitions {
		epoch, _, err := t.stores.db.Partitions().PartitionEpoch(ctx, p)
		if err != nil {
			return nil, err
		}
		inventory.SetEpoch(p, epoch)
	}
	return inventory, nil
}

// connect opens the Redis connection once.
func (t *Tools) connect(ctx context.Context) error {
	if t.stores.client != nil {
		return nil
	}
	address, err := t.config.runningRedis()
	if err != nil {
		return err
	}
	t.stores.connect(address, t.config.Partitions)
	err = t.stores.ping(ctx)
	if err != nil && t.config.Embedded() { // redis.addr of a server that crashed
		return noServerError(t.config.Data)
	}
	return err
}

// ensureMigrated migrates an embedded database. For a real database it returns an error if migrations are pending.
func (t *Tools) ensureMigrated(ctx context.Context) error {
	return prepareDatabase(ctx, t.stores.db, t.config.Embedded(), t.config.Partitions)
}

// CheckStores tries every required operation on the real stores without lasting effects, and checks their settings.
func (t *Tools) CheckStores(ctx context.Context) ([]MissingFeature, []Weakness, error) {
	if err := t.connect(ctx); err != nil {
		return nil, nil, err
	}
	missing := t.stores.missing(ctx, &t.config)
	weaknesses, err := t.stores.weaknesses(ctx)
	if text, schemaErr := newerSchema(ctx, t.stores.db); text != "" {
		weaknesses = append(weaknesses, weaknessOf("MySQL", store.WeakSetting{Risk: text}, false))
	} else {
		err = errors.Join(err, schemaErr)
	}
	return missing, append(weaknesses, t.stores.replicaWeaknesses(ctx)...), err
}

// PendingMigrations returns the number of migrations that the database lacks.
func (t *Tools) PendingMigrations(ctx context.Context) (int, error) {
	pending, err := migrations.Pending(ctx, t.stores.db.DB())
	return len(pending), err
}

// CheckGateway reads the payment gateway's lists of the last hour. It returns the lists that the account may not read:
// lost orders are then found a day later, in the bill.
func (t *Tools) CheckGateway(ctx context.Context) (weak []Weakness) {
	gateway, err := t.config.gateway()
	if gateway == nil || err != nil {
		return nil
	}
	to := shop.MillisOf(time.Now()).Add(-payment.ListLag)
	from := to.Add(-time.Hour)
	_, _, tradesErr := gateway.SoldTrades(ctx, from, to, 1)
	_, _, refundsErr := gateway.RefundLog(ctx, from, to, 1)
	for _, err := range []error{tradesErr, refundsErr} {
		if err != nil {
			weak = append(weak, Weakness{Store: "payment gateway", Message: err.Error() + "; a payment whose order all stores " +
				"have lost is then found a day later, in the bill: activate the permission for this method at the gateway"})
		}
	}
	return weak
}

// PartitionPlace is the location of a partition's keys in a Redis cluster.
type PartitionPlace = streams.Placement

// PartitionPlaces lists the locations of the partitions in a Redis cluster; empty for a single server.
func (t *Tools) PartitionPlaces(ctx context.Context) ([]PartitionPlace, error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return streams.Placements(ctx, t.stores.client, t.config.Partitions)
}

// runOperation runs the function `operation` and writes its row of the journal in the same transaction.
func (t *Tools) runOperation(
	ctx context.Context, operation func(tx *store.Store) (journal.Operation, error),
) (journal.Done, error) {
	if err := t.ensureMigrated(ctx); err != nil {
		return journal.Done{}, err
	}
	return t.stores.db.RunOperation(ctx, t.Actor, operation)
}

// writeJournal records an operation outside the database in the journal, before the operation runs.
func (t *Tools) writeJournal(ctx context.Context, operation journal.Operation) error {
	_, err := t.runOperation(ctx, func(*store.Store) (journal.Operation, error) { return operation, nil })
	return err
}

// RecordSeeding records in the journal that demo data is added.
func (t *Tools) RecordSeeding(ctx context.Context, how any) error {
	return t.writeJournal(ctx, journal.Operation{Kind: "shop.seed", Object: "shop", After: how})
}
