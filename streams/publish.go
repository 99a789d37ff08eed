package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// publishChunk is how many changes one message has at most: it is as long as the calls that others wait behind.
const publishChunk = 500

// Publish tells the nodes of rows of the partition, see app.Notifier. It asks for no epoch: rows are true whatever
// Redis has been through.
func (l *Inventory) Publish(ctx context.Context, partition int, asOf app.Millis, rows []*app.Order) error {
	k, err := l.keys(partition)
	if err != nil {
		return err
	}
	calls := make([]call, 0, 1+len(rows)/publishChunk)
	for some := range slices.Chunk(rows, publishChunk) {
		calls = append(calls, call{[]string{k.meta}, []any{
			int64(asOf), app.PublishWithin.Milliseconds(), app.ChangesChannel(l.namespace, partition), l.lines(some),
		}})
	}
	replies, err := publishScript.runAll(ctx, l.client, calls)
	if err != nil {
		return fmt.Errorf("publish %d changes of partition %d: %w", len(rows), partition, err)
	}
	for _, reply := range replies {
		if err := l.turnedAway(partition, integer(reply[0])); err != nil {
			return fmt.Errorf("publish %d changes: %w", len(rows), err)
		}
	}
	return nil
}

// lines are the changes of a message.
func (l *Inventory) lines(rows []*app.Order) []byte {
	if len(rows) == 0 {
		return []byte{}
	}
	b := make([]byte, 0, len(rows)*lineLength)
	for _, o := range rows {
		b = app.AppendChange(b, o.User, l.frame(o))
	}
	return b
}

// lineLength is about as long as the change of a new order.
const lineLength = 420

// ChainEnds reads how far the messages of all partitions have come, in one call.
func (l *Inventory) ChainEnds(ctx context.Context) ([]app.ChainEnd, error) {
	reads := make([]*redis.SliceCmd, len(l.parts))
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range l.parts {
			reads[i] = p.HMGet(ctx, l.parts[i].keys.meta, "told", "epoch")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the ends of %d chains: %w", len(reads), transient(err))
	}
	ends := make([]app.ChainEnd, len(reads))
	for i, read := range reads {
		ends[i] = app.ChainEnd{Told: number(text(read.Val()[0])), Epoch: number(text(read.Val()[1]))}
	}
	return ends, nil
}
