package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// Waiting lists the reservations of the user that are not settled yet, over all partitions.
func (l *Ledger) Waiting(ctx context.Context, user app.ID) ([]app.Reservation, error) {
	cmds := make([]*redis.StringCmd, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			cmds[i] = p.HGet(ctx, l.parts[i].keys.waiting, user.String())
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, moment(err))
	}
	var found []app.Reservation
	for partition, cmd := range cmds {
		switch err := cmd.Err(); {
		case errors.Is(err, redis.Nil):
			continue
		case err != nil:
			return nil, fmt.Errorf("read waiting reservations of user %s: %w", user, moment(err))
		}
		for item := range strings.SplitSeq(cmd.Val(), ";") {
			r, err := parseReservation(item)
			if err != nil {
				return nil, err
			}
			r.User, r.Partition = user, partition
			found = append(found, r)
		}
	}
	return found, nil
}

// parseReservation reads what reserve.lua writes: order:sale:ticket:hold:qty:price:version:seq:at:hash:key.
func parseReservation(item string) (app.Reservation, error) {
	f := strings.Split(item, ":")
	if len(f) != 11 {
		return app.Reservation{}, fmt.Errorf("%w: waiting reservation %q", app.ErrData, item)
	}
	order, err := app.ParseID(f[0])
	if err != nil {
		return app.Reservation{}, fmt.Errorf("%w: waiting reservation: %w", app.ErrData, err)
	}
	sale, err := app.ParseID(f[1])
	if err != nil {
		return app.Reservation{}, fmt.Errorf("%w: waiting reservation: %w", app.ErrData, err)
	}
	return app.Reservation{
		Order: order, Sale: sale, Ticket: number(f[2]), Hold: number(f[3]), Qty: int(number(f[4])), PriceFen: number(f[5]),
		Version: number(f[6]), Seq: number(f[7]), CreatedAt: app.Millis(number(f[8])), Hash: f[9], Key: f[10],
		State: app.Reserved,
	}, nil
}
