package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// buyersPage is how many entries or buyers one call reads: about a millisecond of Redis.
	buyersPage = 1000
	// recentMost is how many entries of the stream are looked through for those of one sale. Beyond it, and that is
	// another sale of the partition selling tens of thousands between two looks, reading everyone is not worse.
	recentMost = 20 * buyersPage
)

// Buyers lists who has had a reservation of the sale accepted since the mark, see app.Inventory. Every acceptance gives
// out the next ticket and writes one entry into the partition's stream, in one step: who came since the mark is known
// when the entry of every ticket since then was found. Where one is missing (trimmed, another epoch, too much in
// between) everyone is read, page by page, so that no buy waits behind it.
func (l *Inventory) Buyers(ctx context.Context, sale app.SaleRef, since app.BuyersMark) (app.Buyers, error) {
	k, err := l.keys(sale.Partition)
	if err != nil {
		return app.Buyers{}, err
	}
	if since != (app.BuyersMark{}) {
		recent, complete, err := l.recentBuyers(ctx, k, sale, since)
		if err != nil {
			return app.Buyers{}, fmt.Errorf("read who bought of sale %s since ticket %d: %w", sale.ID, since.Tickets,
				err)
		}
		if complete {
			return recent, nil
		}
	}
	everyone, err := l.allBuyers(ctx, k, sale)
	if err != nil {
		return app.Buyers{}, fmt.Errorf("read the buyers of sale %s: %w", sale.ID, err)
	}
	return everyone, nil
}

// recentBuyers looks through the stream behind the mark. complete reports whether nobody is missing.
func (l *Inventory) recentBuyers(
	ctx context.Context, k *partitionKeys, sale app.SaleRef, since app.BuyersMark,
) (b app.Buyers, complete bool, err error) {
	var numbers saleRead
	var entries *redis.XMessageSliceCmd
	_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		numbers = readSale(ctx, p, k, sale.ID)
		// after the numbers: all their tickets are in it
		entries = p.XRangeN(ctx, k.orders, "("+since.Entry, "+", buyersPage)
		return nil
	})
	if err != nil {
		return app.Buyers{}, false, transient(err)
	}
	var open bool
	if b.Counters, open = numbers.counters(sale.ID); !open || !b.Loaded || b.Epoch != since.Epoch ||
		b.Tickets < since.Tickets {
		return app.Buyers{}, false, nil
	}
	b.Mark = since
	for page, looked := entries.Val(), 0; ; {
		for _, m := range page {
			b.Mark.Entry = m.ID
			e := parseEntry(sale.Partition, m)
			if e.Bad != nil || e.Sale != sale.ID || e.Epoch != since.Epoch {
				continue
			}
			if e.Ticket > b.Mark.Tickets+1 {
				return app.Buyers{}, false, nil // tickets are given out one by one: some of the entries are gone
			}
			b.Mark.Tickets = max(b.Mark.Tickets, e.Ticket)
			b.Users = append(b.Users, e.User)
		}
		looked += len(page)
		complete = b.Mark.Tickets >= b.Tickets
		if complete || len(page) < buyersPage || looked >= recentMost {
			return b, complete, nil
		}
		if page, err = l.client.XRangeN(ctx, k.orders, "("+b.Mark.Entry, "+", buyersPage).Result(); err != nil {
			return app.Buyers{}, false, transient(err)
		}
	}
}

// allBuyers walks through everyone. Nobody is taken out of the buyers of a sale as long as it lives, so whoever had
// bought when the walk began is met in it; who buys meanwhile has an entry behind the mark.
func (l *Inventory) allBuyers(ctx context.Context, k *partitionKeys, sale app.SaleRef) (app.Buyers, error) {
	var numbers saleRead
	var last *redis.XMessageSliceCmd
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		last = p.XRevRangeN(ctx, k.orders, "+", "-", 1) // before the numbers: whoever is not in them comes behind it
		numbers = readSale(ctx, p, k, sale.ID)
		return nil
	})
	if err != nil {
		return app.Buyers{}, transient(err)
	}
	b, open := app.Buyers{All: true}, false
	if b.Counters, open = numbers.counters(sale.ID); !b.Loaded {
		return b, nil
	}
	b.Mark = app.BuyersMark{Epoch: b.Epoch, Tickets: b.Tickets, Entry: "0-0"}
	if newest := last.Val(); len(newest) > 0 {
		b.Mark.Entry = newest[0].ID
	}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var pairs []string
		if pairs, cursor, err = l.client.HScan(ctx, k.buyers(sale.ID), cursor, "", buyersPage).Result(); err != nil {
			return app.Buyers{}, transient(err)
		}
		for i := 0; i < len(pairs); i += 2 {
			if user, err := app.ParseID(pairs[i]); err == nil {
				b.Users = append(b.Users, user)
			}
		}
	}
	// A rebuild takes the buyers away and brings them back: what was read beside one is not everybody.
	after := readSale(ctx, l.client, k, sale.ID)
	if err := after.err(); err != nil {
		return app.Buyers{}, transient(err)
	}
	if then, still := after.counters(sale.ID); !open || !still || then.Epoch != b.Epoch {
		return app.Buyers{}, fmt.Errorf("%w: the partition is being rebuilt", app.ErrTransient)
	}
	return b, nil
}

// saleRead is a read of a sale's numbers, and before them of what they are worth: its partition's epoch and state.
type saleRead struct{ meta, fields *redis.SliceCmd }

func readSale(ctx context.Context, c redis.Cmdable, k *partitionKeys, sale app.ID) saleRead {
	return saleRead{meta: c.HMGet(ctx, k.meta, "epoch", "state"), fields: c.HMGet(ctx, k.sale(sale), counterFields...)}
}

func (r saleRead) err() error { return errors.Join(r.meta.Err(), r.fields.Err()) }

// counters answers the numbers, and whether the partition was open.
func (r saleRead) counters(sale app.ID) (c app.Counters, open bool) {
	meta := r.meta.Val()
	c = counters(sale, r.fields.Val())
	c.Epoch = number(text(meta[0]))
	return c, text(meta[1]) == stateOpen
}
