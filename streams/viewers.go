package streams

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// viewersLife is how long a node's word on its watchers counts; nodes say it once a second.
	viewersLife = 3 * time.Second
	// viewersEvery is how often the sum over all nodes is read, at most.
	viewersEvery = time.Second
	// viewersForget is when the reading of a sale that nobody asks for is forgotten.
	viewersForget = time.Minute
)

// viewersReading is how many people watched a sale when it was last read.
type viewersReading struct {
	count int64
	read  time.Time
}

// SetWatching says how many people watch which sale on this node; it counts for about three seconds.
func (l *Inventory) SetWatching(ctx context.Context, node string, counts map[app.SaleRef]int64) error {
	now, err := l.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for sale, n := range counts {
			k, err := l.keys(sale.Partition)
			if err != nil {
				return err
			}
			key := k.watching(sale.ID)
			p.HSet(ctx, key, node, fmt.Sprintf("%d:%d", n, now.Add(viewersLife)))
			p.PExpire(ctx, key, 2*viewersLife)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("say how many people watch %d sales: %w", len(counts), transient(err))
	}
	return nil
}

// viewersDue picks the sales whose crowd is to be read now, and notes that it is being read.
func (l *Inventory) viewersDue(sales []app.SaleRef, now time.Time) []app.SaleRef {
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	var due []app.SaleRef
	for _, sale := range sales {
		if r := l.viewers[sale]; now.Sub(r.read) >= viewersEvery {
			r.read = now
			l.viewers[sale] = r
			due = append(due, sale)
		}
	}
	if len(due) > 0 {
		for sale, r := range l.viewers {
			if now.Sub(r.read) > viewersForget {
				delete(l.viewers, sale)
			}
		}
	}
	return due
}

// viewersRead notes the sums of what the nodes said and still counts.
func (l *Inventory) viewersRead(sales []app.SaleRef, cmds []*redis.MapStringStringCmd, now app.Millis) {
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	for i, sale := range sales {
		var sum int64
		for _, said := range cmds[i].Val() {
			count, expires, _ := strings.Cut(said, ":")
			if number(expires) > int64(now) {
				sum += number(count)
			}
		}
		r := l.viewers[sale]
		r.count = sum
		l.viewers[sale] = r
	}
}

func (l *Inventory) watching(sale app.SaleRef) int64 {
	l.viewersMu.Lock()
	defer l.viewersMu.Unlock()
	return l.viewers[sale].count
}
