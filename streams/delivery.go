package streams

import (
	"context"
	"fmt"

	"stampede/app"
)

// Delivery tells how far the consumers of a partition are, in one instant. While Redis has begun another history that
// nobody has confirmed yet, nothing is told.
func (l *Inventory) Delivery(ctx context.Context, partition int) (app.Delivery, error) {
	k, err := l.keys(partition)
	if err != nil {
		return app.Delivery{}, err
	}
	reply, err := deliveryScript.run(ctx, l.client, []string{k.meta, k.orders})
	if err != nil {
		return app.Delivery{}, fmt.Errorf("look at the consumers of partition %d: %w", partition, err)
	}
	if code := integer(reply[0]); code != codeDone {
		return app.Delivery{}, fmt.Errorf("%w: nobody has looked yet whether Redis has all of partition %d (code %d)",
			app.ErrTransient, partition, code)
	}
	d := app.Delivery{Epoch: number(text(reply[1]))}
	d.Newest, _ = entryID(text(reply[2]))
	pending := text(reply[3])
	delivered, _ := entryID(text(reply[4]))
	switch {
	case pending != "":
		d.Open, _ = entryID(pending)
	case delivered != d.Newest: // the next one, or one before it, is not delivered
		d.Open = app.EntryID{Time: delivered.Time, Number: delivered.Number + 1}
	}
	return d, nil
}
