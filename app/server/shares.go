package server

import (
	"context"
	"time"

	"stampede/app/shop"
)

const (
	// sharesEvery is how often a node looks how many share the limits of a whole shop. One that starts serves for as
	// long with the share of too few.
	sharesEvery = 5 * time.Second
	// sharesWithin bounds one look.
	sharesWithin = 3 * time.Second
)

// shareLimits divides the limits of the whole shop among the nodes that serve it. While the database is away the last
// count holds.
func (p *parts) shareLimits(ctx context.Context) error {
	return shop.Repeat(ctx, sharesEvery, "count the nodes that share limits", p.shareOnce)
}

func (p *parts) shareOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sharesWithin)
	defer cancel()
	nodes, err := p.stores.db.ServingNodes(ctx)
	if err != nil {
		return err
	}
	p.limits.SetNodes(nodes)
	return nil
}
