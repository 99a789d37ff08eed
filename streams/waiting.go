package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// Waiting lists the reservations of the user that are not settled yet, over all partitions. Redis keeps the ids of
// their stream entries per user; the entries tell the rest, and stay in the stream at least until they are settled.
func (l *Ledger) Waiting(ctx context.Context, user app.ID) ([]app.Reservation, error) {
	lists := make([]*redis.StringCmd, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			lists[i] = p.HGet(ctx, l.parts[i].keys.waiting, user.String())
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, moment(err))
	}
	var found []app.Reservation
	for partition, cmd := range lists {
		switch err := cmd.Err(); {
		case errors.Is(err, redis.Nil):
			continue
		case err != nil:
			return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, moment(err))
		}
		messages, err := l.fetch(ctx, partition, strings.Fields(cmd.Val()))
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

// reservation is what an entry says to its buyer as long as it has no row.
func reservation(e app.Entry) app.Reservation {
	return app.Reservation{
		Order: e.Order, Sale: e.Sale, Qty: e.Qty, Key: e.Key, Ticket: e.Ticket, State: app.Reserved, CreatedAt: e.ReservedAt,
		User: e.User, Partition: e.Partition, Seq: e.Seq, Hold: e.Hold, Hash: e.Hash, PriceFen: e.PriceFen, Version: e.SaleVersion,
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
