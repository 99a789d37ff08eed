package board

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

// SaleFigures has the counts of one process for a sale.
type SaleFigures struct {
	Sale     shop.ID                            `json:"-"`
	By       string                             `json:"-"` // the process, and when it started counting this sale
	Attempts int64                              `json:"pressed"`
	Reserved int64                              `json:"reserved"`
	Away     map[shop.Layer]map[shop.Code]int64 `json:"away,omitempty"`
	Press    LatencyCounts                      `json:"press"`
}

// SaleFiguresLife is how long the counts of a sale are available for reports.
const SaleFiguresLife = 40 * 24 * time.Hour

const (
	// maxCounted is the limit of sales that a process counts at once; further sales are not counted.
	maxCounted = 1024
	// countedIdle is how long a sale may be idle before the process drops its counts.
	countedIdle = time.Hour
	// countsWithin limits one write to Redis.
	countsWithin = 2 * time.Second
)

// SaleCounts counts the results of buys by sale, without locks or allocations. A sale is counted from its first buy on.
// Changed sums are published once a second, and idle sales are dropped. A crash loses about one second of counts. A nil
// SaleCounts counts nothing.
type SaleCounts struct {
	Redis   Redis
	Process string // unique among all processes so far
	Now     func() shop.Millis

	counted atomic.Pointer[map[shop.ID]*saleTally]
	mu      sync.Mutex // held while the map is replaced
}

// saleTally has the counts of one sale.
type saleTally struct {
	Counter
	away  [len(shop.Layers)]Counter // rejected buys by layer
	waits BuyLatency
	by    string

	said  int64       // the sum of all counts when last published; used only by RunOnce
	moved shop.Millis // when the sum last changed; used only by RunOnce
}

// Count counts a buy of an existing sale, by its result (see Tally.Count) and the rejecting layer.
func (c *SaleCounts) Count(sale shop.ID, layer shop.Layer, reserved bool, err error) {
	if c == nil {
		return
	}
	t := c.counter(sale)
	if t == nil {
		t = c.begin(sale)
	}
	t.count(layer, reserved, err)
}

// Reject counts a buy that a layer rejected before the sale was looked up.
func (c *SaleCounts) Reject(sale shop.ID, layer shop.Layer, err error) {
	c.counter(sale).count(layer, false, err)
}

func (t *saleTally) count(layer shop.Layer, reserved bool, err error) {
	switch {
	case t == nil:
		return
	case err != nil:
		t.away[slices.Index(shop.Layers[:], layer)].refuse(err)
	case reserved:
		t.reserved.Add(1)
	}
	t.attempts.Add(1)
}

// OrderPublished counts the time from the buy attempt until the buyer received the order event.
func (c *SaleCounts) OrderPublished(sale shop.ID, took time.Duration) {
	if t := c.counter(sale); t != nil {
		t.waits.Observe(took)
	}
}

// counter returns nil for a sale that is not counted.
func (c *SaleCounts) counter(sale shop.ID) *saleTally {
	if c == nil {
		return nil
	}
	all := c.counted.Load()
	if all == nil {
		return nil
	}
	return (*all)[sale]
}

// begin starts counting a sale; nil if maxCounted is reached.
func (c *SaleCounts) begin(sale shop.ID) *saleTally {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[shop.ID]*saleTally{}
	if known := c.counted.Load(); known != nil {
		if t := (*known)[sale]; t != nil {
			return t // another goroutine was faster
		}
		if len(*known) >= maxCounted {
			return nil
		}
		all = maps.Clone(*known)
	}
	now := c.Now()
	t := &saleTally{by: c.Process + ":" + strconv.FormatInt(int64(now), 10), moved: now}
	all[sale] = t
	c.counted.Store(&all)
	return t
}

// forget stops counting the sales. Counts added concurrently are lost; the sales must have been idle for countedIdle.
func (c *SaleCounts) forget(sales []shop.ID) {
	if len(sales) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(*c.counted.Load())
	for _, sale := range sales {
		delete(all, sale)
	}
	c.counted.Store(&all)
}

// Run publishes the counts once a second until ctx ends, and once more at the end.
func (c *SaleCounts) Run(ctx context.Context) error {
	err := shop.Repeat(ctx, Every, "write the counters of sales", c.RunOnce)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), countsWithin)
	defer cancel()
	if failed := c.RunOnce(last); failed != nil {
		slog.WarnContext(last, "the counters of sales of the last second are lost", "err", failed)
	}
	return err
}

// RunOnce publishes the sums that have changed since the last call.
func (c *SaleCounts) RunOnce(ctx context.Context) error {
	known := c.counted.Load()
	if known == nil {
		return nil
	}
	var changed []SaleFigures
	sums, idle := map[shop.ID]int64{}, []shop.ID(nil)
	now := c.Now()
	for sale, t := range *known {
		f, sum := t.figures()
		switch {
		case sum != t.said:
			f.Sale = sale
			changed, sums[sale] = append(changed, f), sum
		case now.Sub(t.moved) > countedIdle:
			idle = append(idle, sale)
		}
	}
	c.forget(idle)
	if len(changed) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countsWithin)
	defer cancel()
	if err := c.Redis.PublishSaleFigures(ctx, changed); err != nil {
		return err
	}
	for sale, sum := range sums {
		t := (*known)[sale]
		t.said, t.moved = sum, now
	}
	return nil
}

// figures returns all counts and their sum, which grows with each count.
func (t *saleTally) figures() (f SaleFigures, sum int64) {
	f = SaleFigures{By: t.by, Attempts: t.Attempts(), Reserved: t.Reserved(), Press: t.waits.Counts()}
	sum = f.Attempts + f.Reserved
	for i := range t.away {
		for code, n := range t.away[i].Refused() {
			if n == 0 {
				continue
			}
			if f.Away == nil {
				f.Away = map[shop.Layer]map[shop.Code]int64{}
			}
			if f.Away[shop.Layers[i]] == nil {
				f.Away[shop.Layers[i]] = map[shop.Code]int64{}
			}
			f.Away[shop.Layers[i]][code] = n
			sum += n
		}
	}
	for _, n := range f.Press {
		sum += n
	}
	return f, sum
}

// SaleBuys has the counts of all processes for a sale.
type SaleBuys struct {
	Attempts int64      `json:"pressed"`
	Reserved int64      `json:"reserved"`
	Rejected []Rejected `json:"turned_away"`        // by layer and response code
	ToOrder  *SaleWaits `json:"to_order,omitempty"` // from buy attempt to order event; absent: none was measured
}

// Rejected is how many buys a layer rejected with a code.
type Rejected struct {
	Layer shop.Layer `json:"layer"`
	Code  shop.Code  `json:"code"`
	Buys  int64      `json:"buys"`
}

// BuysOf adds up the counts of the processes; nil for an empty list.
func BuysOf(said []SaleFigures) *SaleBuys {
	if len(said) == 0 {
		return nil
	}
	all, press := &SaleBuys{Rejected: []Rejected{}}, LatencyCounts{}
	for i := range said {
		all.Attempts += said[i].Attempts
		all.Reserved += said[i].Reserved
		press.add(&said[i].Press)
	}
	for _, layer := range shop.Layers {
		for _, code := range codes {
			away := Rejected{Layer: layer, Code: code}
			for i := range said {
				away.Buys += said[i].Away[layer][code]
			}
			if away.Buys > 0 {
				all.Rejected = append(all.Rejected, away)
			}
		}
	}
	if times := press.times(); times.N > 0 {
		all.ToOrder = &SaleWaits{Orders: times.N, P50: times.P50, P99: times.P99}
	}
	return all
}
