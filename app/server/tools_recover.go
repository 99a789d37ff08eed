package server

import (
	"context"
	"errors"
	"fmt"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

// Recover recovers every partition, even if no loss is detected. accept is the id of a replaced database server that
// may be used again; "": none.
func (t *Tools) Recover(ctx context.Context, accept string) (recovery.Report, error) {
	d, err := t.driver(ctx, journal.Operation{Kind: "database.recover", Object: "database", Note: accept})
	if err != nil {
		return recovery.Report{}, err
	}
	if accept != "" {
		if err := d.Accept(ctx, accept); err != nil {
			return recovery.Report{}, err
		}
	}
	return d.Recover(ctx, d.All()...)
}

// RestoreReport is the result of Restore.
type RestoreReport struct {
	recovery.Report
	Paused int `json:"paused"` // sales that wait for the comparison with the gateway's lists
}

// Restore recovers every partition after backups were restored, before the first node starts. In a shop that takes
// payments, it pauses the sales until the gateway's lists have shown which paid orders the stores lack.
func (t *Tools) Restore(ctx context.Context) (RestoreReport, error) {
	d, err := t.driver(ctx, journal.Operation{Kind: "database.restore", Object: "database"})
	if err != nil {
		return RestoreReport{}, err
	}
	report, err := d.Restore(ctx)
	if err != nil {
		return RestoreReport{Report: report}, err
	}
	gateway, err := t.stores.db.Settings().Gateway(ctx)
	if err != nil || gateway.Name == "" {
		return RestoreReport{Report: report}, err
	}
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return RestoreReport{Report: report}, err
	}
	paused, err := t.stores.db.RestoredSales().Pause(ctx, now)
	if err == nil { // no node sells before its terms are in Redis
		service := &backoffice.SaleService{Store: t.stores.db, Redis: d.Redis}
		err = (&backoffice.SaleFinisherJob{Partitions: t.config.Partitions, Service: service}).PushTerms(ctx)
	}
	return RestoreReport{report, paused}, err
}

// Settle applies an operator's decision about an order whose state a recovery cannot determine.
func (t *Tools) Settle(ctx context.Context, order shop.ID, settlement recovery.Settlement) (recovery.Report, error) {
	d, err := t.driver(ctx, journal.Operation{Kind: "database.settle", Object: "order:" + order.String(), Note: string(settlement)})
	if err != nil {
		return recovery.Report{}, err
	}
	return d.Settle(ctx, order, settlement, t.Actor.User)
}

// driver records the operation in the journal and returns the recovery driver.
func (t *Tools) driver(ctx context.Context, operation journal.Operation) (*recovery.Driver, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.config.requireGateway(ctx, t.stores.db); err != nil {
		return nil, err
	}
	if err := t.writeJournal(ctx, operation); err != nil {
		return nil, err
	}
	db := t.stores.recoveryDB
	d := newDriver(&t.config, db, inventory)
	d.Trust = func(_ context.Context, server string, generation int64) error {
		db.History().Trust(server, generation) // revs of written and ended orders depend on the generation
		return nil
	}
	return d, nil
}

// Audit checks the stock equation of the given sales, or of every loaded sale. NotFound: no such sale.
func (t *Tools) Audit(ctx context.Context, sales ...shop.ID) ([]recovery.AuditReport, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if len(sales) == 0 {
		if sales, err = t.loadedSales(ctx); err != nil {
			return nil, err
		}
	}
	auditor := &recovery.Auditor{Store: t.stores.db, Redis: inventory}
	return auditor.AuditSales(ctx, sales...)
}

func (t *Tools) loadedSales(ctx context.Context) ([]shop.ID, error) {
	var ids []shop.ID
	for p := range t.config.Partitions {
		sales, err := t.stores.db.Sales().LoadedSales(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("list sales of partition %d: %w", p, err)
		}
		for i := range sales {
			ids = append(ids, sales[i].ID)
		}
	}
	return ids, nil
}

// ReplayDead retries the order of a dead letter.
func (t *Tools) ReplayDead(ctx context.Context, id string) (shop.Order, error) {
	jobs, err := t.FailedJobs(ctx)
	if err != nil {
		return shop.Order{}, err
	}
	return jobs.ReplayDead(ctx, t.Actor, id)
}

// DropDead deletes a dead letter.
func (t *Tools) DropDead(ctx context.Context, id string) error {
	jobs, err := t.FailedJobs(ctx)
	if err != nil {
		return err
	}
	return jobs.DropDead(ctx, t.Actor, id)
}

// FailedJobs returns the service that lists, replays and drops dead letters.
func (t *Tools) FailedJobs(ctx context.Context) (*backoffice.FailedJobs, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	return &backoffice.FailedJobs{Store: t.stores.db, Letters: &recovery.DeadLetters{
		Store: t.stores.db, Redis: inventory, PayWindow: t.config.PayWindow,
		Effects: &order.Effects{
			Stock: inventory.Stock(), Queue: inventory.Queue(), Notifier: inventory.Sequences(),
			Store: t.stores.db.Orders(), PublishMarks: t.publishMarks,
		},
	}}, nil
}

// Gateway returns the payment gateway of the shop. With change, the configured gateway first becomes the gateway of the
// shop. WrongState: trades or refunds of the present one are open.
func (t *Tools) Gateway(ctx context.Context, change bool) (payment.GatewayIdentity, error) {
	if !change {
		if err := t.ensureMigrated(ctx); err != nil {
			return payment.GatewayIdentity{}, err
		}
		return t.stores.db.Settings().Gateway(ctx)
	}
	own := t.config.gatewayIdentity()
	if own.Name == "" {
		return own, errors.New("STAMPEDE_ALIPAY_APP_ID is not set: set the variables of the new gateway")
	}
	_, err := t.runOperation(ctx, func(tx *store.Store) (journal.Operation, error) {
		previous, err := tx.Settings().ChangeGateway(ctx, own)
		return journal.Operation{Kind: "gateway.change", Object: "gateway", Before: previous, After: own}, err
	})
	return own, err
}
