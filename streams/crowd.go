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
	// crowdLife is how long a node's word on its watchers counts; nodes say it once a second.
	crowdLife = 3 * time.Second
	// crowdEvery is how often the sum over all nodes is read, at most.
	crowdEvery = time.Second
	// crowdForget is when the reading of a sale that nobody asks for is forgotten.
	crowdForget = time.Minute
)

// crowdReading is how many people watched a sale when it was last read.
type crowdReading struct {
	count int64
	read  time.Time
}

// SetWatching says how many people watch which sale on this node; it counts for about three seconds.
func (l *Ledger) SetWatching(ctx context.Context, node string, counts map[app.SaleRef]int64) error {
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
			p.HSet(ctx, key, node, fmt.Sprintf("%d:%d", n, now.Add(crowdLife)))
			p.PExpire(ctx, key, 2*crowdLife)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("say how many people watch %d sales: %w", len(counts), moment(err))
	}
	return nil
}

// crowdDue picks the sales whose crowd is to be read now, and notes that it is being read.
func (l *Ledger) crowdDue(sales []app.SaleRef, now time.Time) []app.SaleRef {
	l.crowdMu.Lock()
	defer l.crowdMu.Unlock()
	var due []app.SaleRef
	for _, sale := range sales {
		if r := l.crowd[sale]; now.Sub(r.read) >= crowdEvery {
			r.read = now
			l.crowd[sale] = r
			due = append(due, sale)
		}
	}
	if len(due) > 0 {
		for sale, r := range l.crowd {
			if now.Sub(r.read) > crowdForget {
				delete(l.crowd, sale)
			}
		}
	}
	return due
}

// crowdRead notes the sums of what the nodes said and still counts.
func (l *Ledger) crowdRead(sales []app.SaleRef, cmds []*redis.MapStringStringCmd, now app.Millis) {
	l.crowdMu.Lock()
	defer l.crowdMu.Unlock()
	for i, sale := range sales {
		var sum int64
		for _, said := range cmds[i].Val() {
			count, expires, _ := strings.Cut(said, ":")
			if number(expires) > int64(now) {
				sum += number(count)
			}
		}
		r := l.crowd[sale]
		r.count = sum
		l.crowd[sale] = r
	}
}

func (l *Ledger) watching(sale app.SaleRef) int64 {
	l.crowdMu.Lock()
	defer l.crowdMu.Unlock()
	return l.crowd[sale].count
}
