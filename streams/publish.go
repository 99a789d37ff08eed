package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/trace"
)

// publishChunk is the maximum number of changes per message, because other Redis calls wait while a message is
// published.
const publishChunk = 500

// Publish notifies the nodes of rows of one partition, in one message per publishChunk rows. asOf is Redis time, read
// before the transaction that touched the rows began. ErrTooLate: asOf is more than PublishDeadline ago, nothing was
// published, and the rows must be touched again (F2). After any other error the outcome is unknown: publish again.
// Publish needs no epoch, because committed rows are always valid.
func (s Sequences) Publish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order) error {
	k, err := s.keys(partition)
	if err != nil {
		return err
	}
	calls := make([]call, 0, 1+len(rows)/publishChunk)
	for chunk := range slices.Chunk(rows, publishChunk) {
		calls = append(calls, call{[]string{k.meta}, []any{
			int64(asOf), shop.PublishDeadline.Milliseconds(), shop.ChangesChannel(s.namespace, partition),
			s.lines(chunk, nil),
		}})
	}
	replies, err := publishScript.runAll(ctx, s.client, calls)
	if err != nil {
		return fmt.Errorf("publish %d changes of partition %d: %w", len(rows), partition, err)
	}
	for _, reply := range replies {
		if err := s.rejection(partition, integer(reply[0])); err != nil {
			return fmt.Errorf("publish %d changes: %w", len(rows), err)
		}
	}
	return nil
}

// lines encodes the changes of a message. traces has the traces of the traced rows, by order.
func (c *connection) lines(rows []*shop.Order, traces map[shop.ID]trace.SpanRef) []byte {
	if len(rows) == 0 {
		return []byte{}
	}
	b := make([]byte, 0, len(rows)*lineLength)
	for _, o := range rows {
		if trace, traced := traces[o.ID]; traced {
			b = shop.AppendTraced(b, o, c.frame(o), trace)
			continue
		}
		b = shop.AppendChange(b, o, c.frame(o))
	}
	return b
}

// lineLength is the approximate length of the change of a new order.
const lineLength = 480

// SequenceEnds reads the ends of the sequences of all partitions, in their order. It fails if no partition replies. An
// unreachable partition has Unreachable set.
func (s Sequences) SequenceEnds(ctx context.Context) ([]shop.SequenceEnd, error) {
	ends := make([]shop.SequenceEnd, len(s.parts))
	for p := range ends {
		ends[p].Unreachable = true
	}
	groups, err := readPartitions(ctx, s.connection, s.all(), readReplyWait, s.sequenceEndsOf)
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, fmt.Errorf("read the sequence ends of %d partitions: %w", len(ends), err)
	}
	for _, group := range groups {
		for p, end := range group {
			ends[p] = end
		}
	}
	return ends, nil
}

// sequenceEndsOf reads the ends of some partitions in one pipeline.
func (s Sequences) sequenceEndsOf(ctx context.Context, partitions []int) (map[int]shop.SequenceEnd, error) {
	reads := make([]*redis.SliceCmd, len(partitions))
	_, _ = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each read keeps its error
		for i, p := range partitions {
			reads[i] = pipe.HMGet(ctx, s.parts[p].keys.meta, "published", "epoch")
		}
		return nil
	})
	ends, failed := make(map[int]shop.SequenceEnd, len(partitions)), make(map[int]error)
	for i, read := range reads {
		values, err := read.Result()
		if err != nil {
			failed[partitions[i]] = transient(err)
			continue
		}
		ends[partitions[i]] = shop.SequenceEnd{Last: number(text(values[0])), Epoch: number(text(values[1]))}
	}
	return ends, partialError(failed, len(ends) == 0)
}
