package streams

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	viewersLife     = 3 * time.Second // TTL of a node's count, which is sent once a second
	viewersInterval = time.Second     // minimum interval between two reads of the sum over all nodes
	maxViewersAge   = time.Minute     // older readings are dropped
)

// viewerCounts has the last counts of watchers that this node has read.
type viewerCounts struct {
	mu       sync.Mutex
	readings map[shop.SaleRef]viewersReading
}

// viewersReading is the last count of a sale's watchers.
type viewersReading struct {
	count  int64
	readAt time.Time
}

// SetWatching stores the number of people who watch each sale on this node, for viewersLife.
func (s Stock) SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error {
	byPartition := make(map[int][]shop.SaleRef)
	var partitions []int
	for sale := range counts {
		if _, err := s.keys(sale.Partition); err != nil {
			return err
		}
		if byPartition[sale.Partition] == nil {
			partitions = append(partitions, sale.Partition)
		}
		byPartition[sale.Partition] = append(byPartition[sale.Partition], sale)
	}
	if len(partitions) == 0 {
		return nil
	}
	_, err := readPartitions(ctx, s.connection, partitions, tickReplyWait,
		func(ctx context.Context, subset []int) (struct{}, error) {
			var calls []call
			for _, p := range subset {
				for _, sale := range byPartition[p] {
					calls = append(calls, call{
						[]string{s.parts[p].keys.watching(sale.ID)},
						[]any{node, counts[sale], viewersLife.Milliseconds()},
					})
				}
			}
			_, err := watchScript.runAll(ctx, s.client, calls)
			return struct{}{}, err
		})
	if err != nil && shop.UnreachableIn(err) == nil {
		return fmt.Errorf("publish the viewer counts of %d sales: %w", len(counts), err)
	}
	return nil // numbers of unreachable partitions are not shown
}

// readWatching reads the watchers of due sales on one server. After a failure the last count stays.
func (s Stock) readWatching(ctx context.Context, sales []shop.SaleRef) {
	due := s.viewers.due(sales, time.Now())
	if len(due) == 0 {
		return
	}
	calls := make([]call, len(due))
	for i, sale := range due {
		calls[i] = call{keys: []string{s.parts[sale.Partition].keys.watching(sale.ID)}}
	}
	replies, err := watchingScript.runAll(ctx, s.client, calls)
	if err != nil {
		return
	}
	for i, sale := range due {
		s.viewers.set(sale, integer(replies[i][0]))
	}
}

// due returns the sales whose watchers must be read now, and records the read.
func (v *viewerCounts) due(sales []shop.SaleRef, now time.Time) []shop.SaleRef {
	v.mu.Lock()
	defer v.mu.Unlock()
	var due []shop.SaleRef
	for _, sale := range sales {
		if r := v.readings[sale]; now.Sub(r.readAt) >= viewersInterval {
			r.readAt = now
			v.readings[sale] = r
			due = append(due, sale)
		}
	}
	if len(due) > 0 {
		maps.DeleteFunc(v.readings, func(_ shop.SaleRef, r viewersReading) bool {
			return now.Sub(r.readAt) > maxViewersAge
		})
	}
	return due
}

func (v *viewerCounts) of(sale shop.SaleRef) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.readings[sale].count
}

func (v *viewerCounts) set(sale shop.SaleRef, count int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.readings[sale]
	r.count = count
	v.readings[sale] = r
}
