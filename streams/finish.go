package streams

import (
	"context"
	"fmt"

	"stampede/app/shop"
	"stampede/app/trace"
)

// Finish completes new rows of a partition in one step (I4). It publishes the rows in one message, adds their
// deadlines, and acknowledges their entries. The acknowledgement advances the queue places of later entries. There are
// at most 1,000 rows and 1,000 entries, the batch limit of a consumer.
func (q Queue) Finish(
	ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	k, err := q.keys(partition)
	if err != nil {
		return err
	}
	if len(rows)+len(entries) == 0 {
		return nil
	}
	keys := []string{k.meta, k.orders, k.waiting, k.attempts, k.deadlines}
	args := append(make([]any, 0, 6+2*len(rows)+2*len(entries)), q.Epoch(partition), int64(asOf),
		shop.PublishDeadline.Milliseconds(), shop.ChangesChannel(q.namespace, partition),
		q.lines(rows, traces(entries)), 0)
	deadlines := 0
	for _, o := range rows {
		if o.State == shop.Pending {
			args = append(args, int64(o.PayBy), int64(o.ID))
			deadlines++
		}
	}
	args[5] = deadlines
	position := make(map[shop.ID]int, 1)
	for _, e := range entries {
		at, known := position[e.Sale]
		if !known {
			keys = append(keys, k.sale(e.Sale))
			at = len(keys)
			position[e.Sale] = at
		}
		args = append(args, e.StreamID, at)
	}
	reply, err := finishScript.run(ctx, q.client, keys, args...)
	if err != nil {
		return fmt.Errorf("finish %d entries: %w", len(entries), err)
	}
	if err := q.rejection(partition, integer(reply[0])); err != nil {
		return fmt.Errorf("finish %d entries: %w", len(entries), err)
	}
	q.metrics.settled.Add(integer(reply[1]))
	return nil
}

// traces returns the traces of the entries' orders; nil if none is traced, which is usual.
func traces(entries []*shop.Entry) map[shop.ID]trace.SpanRef {
	var found map[shop.ID]trace.SpanRef
	for _, e := range entries {
		if e.Trace == nil {
			continue
		}
		if found == nil {
			found = make(map[shop.ID]trace.SpanRef)
		}
		found[e.Order] = *e.Trace
	}
	return found
}
