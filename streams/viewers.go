package streams

import (
	"context"
	"fmt"
	"maps"
	"time"

	"stampede/app/shop"
)

const (
	viewersLife     = 3 * time.Second // TTL of a node's count, which is sent once a second
	viewersInterval = time.Second     // minimum interval between two reads of the sum over all nodes
	maxViewersAge   = time.Minute     // older readings are dropped
)

// viewersReading is the last count of a sale's watchers.
type viewersReading struct {
	count  int64
	readAt time.Time
}

// SetWatching stores the number of people who watch each sale on this node, for viewersLife.
func (l *Inventory) SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error {
	byPartition := make(map[int][]shop.SaleRef)
	var partitions []int
	for sale := range counts {
		if _, err := l.keys(sale.Partition); err != nil {
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
	_, err := readPartitions(ctx, l, partitions, tickReplyWait,
		func(ctx context.Context, subset []int) (struct{}, error) {
			var calls []call
			for _, p := range subset {
				for _, sale := range byPartition[p] {
					calls = append(calls, call{
						[]string{l.parts[p].keys.watching(sale.ID)},
						[]any{node, counts[sale], viewersLife.Milliseconds()},
					})
				}
			}
			_, err := watchScript.runAll(ctx, l.client, calls)
			return struct{}{}, err
		})
	if err != nil && shop.UnreachableIn(err) == nil {
		return fmt.Errorf("publish the viewer counts of %d sales: %w", len(counts), err)
	}
	return nil // numbers of unreachable partitions are not shown
}

// viewersDue returns the sales whose watchers must be read now, and records the read.
func (l *Inventory) viewersDue(sales []shop.SaleRef, now time.Time) []shop.SaleRef {
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	var due []shop.SaleRef
	for _, sale := range sales {
		if r := l.viewers[sale]; now.Sub(r.readAt) >= viewersInterval {
			r.readAt = now
			l.viewers[sale] = r
			due = append(due, sale)
		}
	}
	if len(due) > 0 {
		maps.DeleteFunc(l.viewers, func(_ shop.SaleRef, r viewersReading) bool {
			return now.Sub(r.readAt) > maxViewersAge
		})
	}
	return due
}

// readWatching reads the watchers of due sales on one server. After a failure the last count stays.
func (l *Inventory) readWatching(ctx context.Context, sales []shop.SaleRef) {
	due := l.viewersDue(sales, time.Now())
	if len(due) == 0 {
		return
	}
	calls := make([]call, len(due))
	for i, sale := range due {
		calls[i] = call{keys: []string{l.parts[sale.Partition].keys.watching(sale.ID)}}
	}
	replies, err := watchingScript.runAll(ctx, l.client, calls)
	if err != nil {
		return
	}
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	for i, sale := range due {
		r := l.viewers[sale]
		r.count = integer(replies[i][0])
		l.viewers[sale] = r
	}
}

func (l *Inventory) watching(sale shop.SaleRef) int64 {
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	return l.viewers[sale].count
}
