package server

import (
	"context"

	"stampede/app/journal"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// Recover recovers every partition, also where a look finds nothing wrong. accept names a database server that was
// replaced and is to be used again; "": none.
func (t *Tools) Recover(ctx context.Context, accept string) (recovery.Report, error) {
	d, err := t.driver(ctx, journal.Act{Kind: "database.recover", Object: "database", Note: accept})
	if err != nil {
		return recovery.Report{}, err
	}
	if accept != "" {
		for _, p := range d.All() {
			if err := d.Redis.Accept(ctx, p, accept); err != nil {
				return recovery.Report{}, err
			}
		}
	}
	return d.Recover(ctx, d.All()...)
}

// Settle does what an operator has decided about an order that a recovery cannot prove.
func (t *Tools) Settle(ctx context.Context, order shop.ID, how recovery.Settlement) (recovery.Report, error) {
	d, err := t.driver(ctx, journal.Act{Kind: "database.settle", Object: "order:" + order.String(), Note: string(how)})
	if err != nil {
		return recovery.Report{}, err
	}
	return d.Settle(ctx, order, how)
}

// driver is the recovery, after the act was journalled.
func (t *Tools) driver(ctx context.Context, act journal.Act) (*recovery.Driver, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	gateway, err := t.config.gateway()
	if err != nil {
		return nil, err
	}
	if err := t.note(ctx, act); err != nil {
		return nil, err
	}
	db := t.stores.unfenced
	d := newDriver(&t.config, db, inventory, gateway != nil)
	d.Trust = func(_ context.Context, server string, generation int64) error {
		db.Trust(server, generation) // the revs of what is written and ended depend on the generation
		return nil
	}
	return d, nil
}
