package server

import (
	"context"
	"errors"
	"fmt"

	"stampede/app"
	"stampede/app/markup"
	"stampede/app/picture"
)

// Catalogue lets somebody say what is offered, as the actor of these tools.
func (t *Tools) Catalogue(ctx context.Context, use func(d *app.CatalogueDesk, actor app.Actor) error) (err error) {
	if err := t.prepared(ctx); err != nil {
		return err
	}
	lease, err := t.stores.db.LeaseNode(ctx)
	if err != nil {
		return fmt.Errorf("lease a node number: %w", err)
	}
	defer func() { err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))) }()
	return use(&app.CatalogueDesk{
		Acts: t.journal(), Store: t.stores.db, Images: picture.NewMaker(), Clean: markup.Clean, Mint: lease.Mint,
		Now: wallClock, Zone: t.config.TimeZone.Location, // a running server tells Redis of edits
	}, t.actor)
}

// Readiness runs through the checklist of a sale.
func (t *Tools) Readiness(ctx context.Context, sale app.ID) (r app.Readiness, err error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return r, err
	}
	gateway, err := t.config.gateway()
	if err != nil {
		return r, err
	}
	err = t.Catalogue(ctx, func(d *app.CatalogueDesk, _ app.Actor) error {
		r, err = checklist(d, &t.stores, inventory, gateway, &t.config).Readiness(ctx, sale)
		return err
	})
	return r, err
}
