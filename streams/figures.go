package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/board"
	"stampede/app/shop"
)

const (
	boardLife      = time.Minute                                 // of the figures, after the last update
	historyLife    = board.Points*board.PointEvery + time.Minute // of the history, after its last point
	pointClaimLife = 4 * board.PointEvery
)

// PublishFigures replaces the figures of this node. If pointAt is not 0, it also reports whether this node is
// the first to claim the point of that instant. That node adds the point to the history.
func (f Figures) PublishFigures(
	ctx context.Context, figures board.NodeFigures, pointAt shop.Millis,
) (first bool, err error) {
	text, err := json.Marshal(figures)
	if err != nil {
		return false, fmt.Errorf("write the figures of node %d: %w", figures.ID, err)
	}
	var claim *redis.BoolCmd
	_, err = f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, boardKey, strconv.Itoa(figures.ID), text)
		p.PExpire(ctx, boardKey, boardLife)
		if pointAt != 0 {
			claim = p.SetNX(ctx, boardPointClaims+strconv.FormatInt(int64(pointAt), 10), figures.ID, pointClaimLife)
		}
		return nil
	})
	return claim != nil && claim.Val(), wrapped(transient(err), "publish the figures of node %d", figures.ID)
}

// RoundTrip returns the longest time that a server of a partition takes to reply to a read.
func (f Figures) RoundTrip(ctx context.Context) (time.Duration, error) {
	measure := func(ctx context.Context, partitions []int) (time.Duration, error) {
		began := time.Now()
		err := f.client.HExists(ctx, f.parts[partitions[0]].keys.meta, "epoch").Err()
		return time.Since(began), transient(err)
	}
	times, err := readPartitions(ctx, f.connection, Queue(f).all(), readReplyWait, measure)
	if len(times) == 0 {
		return 0, wrapped(err, "measure the round trip to Redis")
	}
	return slices.Max(times), nil
}

// NodeFigures returns the figures of all nodes, including nodes that have stopped.
func (f Figures) NodeFigures(ctx context.Context) ([]board.NodeFigures, error) {
	stored, err := f.client.HGetAll(ctx, boardKey).Result()
	if err != nil {
		return nil, transient(err)
	}
	return decodeFigures[board.NodeFigures](ctx, maps.Values(stored)), nil
}

// AddPoint adds a point to the history, and deletes points that are too old and figures of nodes that have stopped.
func (f Figures) AddPoint(ctx context.Context, p board.Point, stopped []int) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write a point of the board's history: %w", err)
	}
	_, err = f.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.RPush(ctx, boardHistory, text)
		pipe.LTrim(ctx, boardHistory, -board.Points, -1)
		pipe.PExpire(ctx, boardHistory, historyLife)
		for _, node := range stopped {
			pipe.HDel(ctx, boardKey, strconv.Itoa(node))
		}
		return nil
	})
	return wrapped(transient(err), "add a point to the board's history")
}

// Points returns the last points of the history, oldest first.
func (f Figures) Points(ctx context.Context, last int) ([]board.Point, error) {
	texts, err := f.client.LRange(ctx, boardHistory, int64(-last), -1).Result()
	if err != nil {
		return nil, transient(err)
	}
	return decodeFigures[board.Point](ctx, slices.Values(texts)), nil
}

// PartitionFigures returns the figures of all partitions, in their order. It tries a write in each partition.
func (f Figures) PartitionFigures(ctx context.Context) ([]board.PartitionFigures, error) {
	stats, err := Queue(f).Stats(ctx)
	if err != nil {
		return nil, err
	}
	figures := make([]board.PartitionFigures, len(stats))
	for i, s := range stats {
		figures[i] = board.PartitionFigures{
			P: s.Partition, Lag: s.Lag, Pending: s.Pending, OldestMS: s.Oldest.Milliseconds(), Dead: s.Dead,
			Deadlines: s.Deadlines, Unreachable: s.Unreachable, Rejects: s.Rejects, ClosedAt: s.ClosedAt,
		}
	}
	return figures, nil
}

// decodeFigures decodes figures and skips unreadable figures.
func decodeFigures[T any](ctx context.Context, texts iter.Seq[string]) []T {
	all := []T{}
	for text := range texts {
		var figures T
		if err := json.Unmarshal([]byte(text), &figures); err != nil {
			slog.DebugContext(ctx, "unreadable figures of a node", "err", err)
			continue
		}
		all = append(all, figures)
	}
	return all
}

// PublishSaleFigures replaces the figures that this process has stored of each sale. Repeating it changes nothing.
func (f Figures) PublishSaleFigures(ctx context.Context, all []board.SaleFigures) error {
	_, err := f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range all {
			text, err := json.Marshal(&all[i])
			if err != nil {
				return fmt.Errorf("encode the figures of sale %s: %w", all[i].Sale, err)
			}
			key := boardSale + all[i].Sale.String()
			p.HSet(ctx, key, all[i].By, text)
			p.PExpire(ctx, key, board.SaleFiguresLife)
		}
		return nil
	})
	return wrapped(transient(err), "publish the figures of %d sales", len(all))
}

// SaleFigures returns the figures of all processes for a sale.
func (f Figures) SaleFigures(ctx context.Context, sale shop.ID) ([]board.SaleFigures, error) {
	stored, err := f.client.HGetAll(ctx, boardSale+sale.String()).Result()
	if err != nil {
		return nil, fmt.Errorf("read the figures of sale %s: %w", sale, transient(err))
	}
	return decodeFigures[board.SaleFigures](ctx, maps.Values(stored)), nil
}
