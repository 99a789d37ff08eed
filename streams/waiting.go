package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// Waiting lists the reservations of the user that are not settled yet, over all partitions. Which sales have any, Redis
// counts; the user's record in each tells their entries, and the entries, which stay in the stream at least until they are
// settled, tell the rest.
func (l *Ledger) Waiting(ctx context.Context, user app.ID) ([]app.Reservation, error) {
	sales, err := l.unsettledSales(ctx)
	if err != nil {
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, err)
	}
	ids, err := l.waitingEntries(ctx, sales, user)
	if err != nil {
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, err)
	}
	var found []app.Reservation
	for partition := range l.parts {
		messages, err := l.fetch(ctx, partition, ids[partition])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			e := parseEntry(partition, m)
			if e.Bad != nil {
				if errors.Is(e.Bad, errContentGone) {
					continue // settled and trimmed between the two reads
				}
				return nil, fmt.Errorf("%w: waiting entry %s: %w", app.ErrData, m.ID, e.Bad)
			}
			found = append(found, reservation(e))
		}
	}
	return found, nil
}

// unsettledSales lists the sales that have unsettled reservations of anybody.
func (l *Ledger) unsettledSales(ctx context.Context) ([]app.SaleRef, error) {
	lists := make([]*redis.StringSliceCmd, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			lists[i] = p.HKeys(ctx, l.parts[i].keys.waiting)
		}
		return nil
	})
	if err != nil {
		return nil, moment(err)
	}
	var sales []app.SaleRef
	for partition, list := range lists {
		for _, text := range list.Val() {
			id, err := app.ParseID(text)
			if err != nil {
				return nil, fmt.Errorf("%w: partition %d waits for sale %q", app.ErrData, partition, text)
			}
			sales = append(sales, app.SaleRef{ID: id, Partition: partition})
		}
	}
	return sales, nil
}

// waitingEntries lists the stream ids of the user's unsettled reservations in the sales, by partition.
func (l *Ledger) waitingEntries(ctx context.Context, sales []app.SaleRef, user app.ID) (map[int][]string, error) {
	if len(sales) == 0 {
		return nil, nil
	}
	records := make([]*redis.StringCmd, len(sales))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, sale := range sales {
			records[i] = p.HGet(ctx, l.parts[sale.Partition].keys.buyers(sale.ID), user.String())
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, moment(err)
	}
	ids := make(map[int][]string)
	for i, record := range records {
		switch err := record.Err(); {
		case errors.Is(err, redis.Nil):
			continue
		case err != nil:
			return nil, moment(err)
		}
		if parts := strings.SplitN(record.Val(), "|", 4); len(parts) == 4 {
			ids[sales[i].Partition] = append(ids[sales[i].Partition], strings.Fields(parts[3])...)
		}
	}
	return ids, nil
}

// reservation is what an entry says to its buyer as long as it has no row.
func reservation(e app.Entry) app.Reservation {
	return app.Reservation{
		Order: e.Order, Sale: e.Sale, Qty: e.Qty, Key: e.Key, Ticket: e.Ticket, State: app.Reserved, CreatedAt: e.ReservedAt,
		User: e.User, Partition: e.Partition, Epoch: e.Epoch, Seq: e.Seq, Hold: e.Hold, Hash: e.Hash, PriceFen: e.PriceFen, Version: e.SaleVersion,
	}
}

// fetch reads entries by their ids; one that is no longer in the stream comes without content.
func (l *Ledger) fetch(ctx context.Context, partition int, ids []string) ([]redis.XMessage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make([]*redis.XMessageSliceCmd, len(ids))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = p.XRange(ctx, l.parts[partition].keys.orders, id, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d entries: %w", len(ids), moment(err))
	}
	messages := make([]redis.XMessage, len(ids))
	for i, id := range ids {
		messages[i] = redis.XMessage{ID: id}
		if found := cmds[i].Val(); len(found) > 0 {
			messages[i] = found[0]
		}
	}
	return messages, nil
}
