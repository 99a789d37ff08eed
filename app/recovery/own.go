package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// requireOwn checks that this Redis belongs to the shop of the database. ErrMisconfigured: it has the data of another
// shop. ErrTransient: it is empty, and other nodes see the data of this shop in their Redis. Without this check, a node
// with a wrong address would rebuild all partitions in its Redis, and the other nodes would stop selling.
//
// If the only Redis is empty, no node sees data, and the partitions are restored from rows. The loss of a part of a
// cluster leaves data in the other partitions.
func (d *Driver) requireOwn(ctx context.Context, redis recordedStates) error {
	if len(redis) == 0 {
		return nil // no partition is reachable
	}
	id, err := d.shop(ctx)
	if err != nil {
		return err
	}
	seen := false
	for p, s := range redis {
		if s.Shop != "" && s.Shop != id {
			return fmt.Errorf("%w: partition %d of this Redis belongs to the shop %s, and the database to the shop %s: "+
				"correct STAMPEDE_REDIS_URL or STAMPEDE_MYSQL_DSN. If the other shop is gone, empty this Redis (FLUSHDB)",
				shop.ErrMisconfigured, p, s.Shop, id)
		}
		seen = seen || s.Shop == id
	}
	if d.Node != nil {
		if err := d.Store.Nodes().RecordSighting(ctx, d.Node, seen); err != nil {
			slog.WarnContext(ctx, "cannot record that this node sees its Redis", "err", err)
		}
	}
	if seen {
		return nil
	}
	others, err := d.Store.Nodes().SeenElsewhere(ctx, d.Node)
	if err == nil && others > 0 {
		err = fmt.Errorf("%w: this Redis is empty, and %d other nodes use another Redis with the data of this shop: "+
			"correct STAMPEDE_REDIS_URL", shop.ErrTransient, others)
	}
	return err
}

// shop returns the id of the shop of the database.
func (d *Driver) shop(ctx context.Context) (string, error) {
	if id := d.shopID.Load(); id != nil {
		return *id, nil
	}
	id, err := d.Store.Settings().ShopID(ctx)
	if err == nil {
		d.shopID.Store(&id)
	}
	return id, err
}
