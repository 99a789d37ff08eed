package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// Standing answers the holds that are open among the orders of a sale, and whether the sale is in Redis at all.
func (l *Inventory) Standing(
	ctx context.Context, sale app.SaleRef, orders []app.ID,
) (holds map[app.ID]app.OpenHold, loaded bool, err error) {
	k, err := l.keys(sale.Partition)
	if err != nil {
		return nil, false, err
	}
	fields := make([]string, len(orders))
	for i, id := range orders {
		fields[i] = id.String()
	}
	var there *redis.IntCmd
	var found *redis.SliceCmd
	_, err = l.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		there = p.Exists(ctx, k.sale(sale.ID))
		if len(fields) > 0 {
			found = p.HMGet(ctx, k.open(sale.ID), fields...)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("look for holds of sale %s: %w", sale.ID, transient(err))
	}
	holds = make(map[app.ID]app.OpenHold, len(orders))
	for i, id := range fields {
		value, ok := found.Val()[i].(string)
		if !ok {
			continue
		}
		if holds[orders[i]], err = parseHold(id, value); err != nil {
			return nil, false, err
		}
	}
	return holds, there.Val() == 1, nil
}

// KnownDatabase is the history of the database on which the partition is known to lack nothing; "" if none was noted.
func (l *Inventory) KnownDatabase(ctx context.Context, partition int) (string, error) {
	k, err := l.keys(partition)
	if err != nil {
		return "", err
	}
	known, err := l.client.Get(ctx, k.database).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read which database partition %d knows: %w", partition, transient(err))
	}
	return known, nil
}

// NoteDatabase notes that.
func (l *Inventory) NoteDatabase(ctx context.Context, partition int, history string) error {
	k, err := l.keys(partition)
	if err != nil {
		return err
	}
	if err := l.client.Set(ctx, k.database, history, 0).Err(); err != nil {
		return fmt.Errorf("note which database partition %d knows: %w", partition, transient(err))
	}
	return nil
}
