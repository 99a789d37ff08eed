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
	Attempts int64                              `json:"attempts"`
	Reserved int64                              `json:"reserved"`
	Rejected map[shop.Layer]map[shop.Code]int64 `json:"away,omitempty"`
	Latency  LatencyCounts                      `json:"latency"`
}

// SaleFiguresLife is how long the counts of a sale are available for reports.
const SaleFiguresLife = 40 * 24 * time.Hour

const (
	// maxCounted is the limit of sales that a process counts at once; further sales are not counted.
	maxCounted = 1024
	// idleLimit is how long a sale may be idle before the process drops its counts.
	idleLimit = time.Hour
	// countsTimeout limits one write to Redis.
	countsTimeout = 2 * time.Second
)

// SaleCounts counts the results of buys by sale, without locks or allocations. A sale is counted from its first buy on.
// Changed sums are published once a second, and idle sales are dropped. A crash loses about one second of counts. A nil
// SaleCounts counts nothing.
type SaleCounts struct {
	Figures FigureStore
	Process string // unique among all processes so far
	Now     func() shop.Millis

	counted atomic.Pointer[map[shop.ID]*saleCounter]
	mu      sync.Mutex // held while the map is replaced
}

// saleCounter has the counts of one sale.
type saleCounter struct {
	Counter
	rejected [len(shop.Layers)]Counter // rejected buys by layer
	latency  BuyLatency
	by       string

	published int64       // the sum of all counts when last published; used only by RunOnce
	changedAt shop.Millis // when the sum last changed; used only by RunOnce
}

// Count counts a buy of an existing sale, by its result (see Counter.Count) and the rejecting layer.
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

func (s *saleCounter) count(layer shop.Layer, reserved bool, err error) {
	switch {
	case s == nil:
		return
	case err != nil:
		s.rejected[slices.Index(shop.Layers[:], layer)].reject(err)
	case reserved:
		s.reserved.Add(1)
	}
	s.attempts.Add(1)
}

// OrderPublished counts the time from the buy attempt until the buyer received the order event.
func (c *SaleCounts) OrderPublished(sale shop.ID, took time.Duration) {
	if t := c.counter(sale); t != nil {
		t.latency.Observe(took)
	}
}

// counter returns nil for a sale that is not counted.
func (c *SaleCounts) counter(sale shop.ID) *saleCounter {
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
func (c *SaleCounts) begin(sale shop.ID) *saleCounter {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[shop.ID]*saleCounter{}
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
	t := &saleCounter{by: c.Process + ":" + strconv.FormatInt(int64(now), 10), changedAt: now}
	all[sale] = t
	c.counted.Store(&all)
	return t
}

// dropIdle stops counting the sales. Counts added concurrently are lost; the sales must have been idle for idleLimit.
func (c *SaleCounts) dropIdle(sales []shop.ID) {
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
	err := shop.Repeat(ctx, UpdateInterval, "write the counters of sales", c.RunOnce)
	lastCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countsTimeout)
	defer cancel()
	if lastErr := c.RunOnce(lastCtx); lastErr != nil {
		slog.WarnContext(lastCtx, "the counters of sales of the last second are lost", "err", lastErr)
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
		case sum != t.published:
			f.Sale = sale
			changed, sums[sale] = append(changed, f), sum
		case now.Sub(t.changedAt) > idleLimit:
			idle = append(idle, sale)
		}
	}
	c.dropIdle(idle)
	if len(changed) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countsTimeout)
	defer cancel()
	if err := c.Figures.PublishSaleFigures(ctx, changed); err != nil {
		return err
	}
	for sale, sum := range sums {
		t := (*known)[sale]
		t.published, t.changedAt = sum, now
	}
	return nil
}

// figures returns all counts and their sum, which grows with each count.
func (s *saleCounter) figures() (f SaleFigures, sum int64) {
	f = SaleFigures{By: s.by, Attempts: s.Attempts(), Reserved: s.Reserved(), Latency: s.latency.Counts()}
	sum = f.Attempts + f.Reserved
	for i := range s.rejected {
		for code, n := range s.rejected[i].Rejected() {
			if n == 0 {
				continue
			}
			if f.Rejected == nil {
				f.Rejected = map[shop.Layer]map[shop.Code]int64{}
			}
			if f.Rejected[shop.Layers[i]] == nil {
				f.Rejected[shop.Layers[i]] = map[shop.Code]int64{}
			}
			f.Rejected[shop.Layers[i]][code] = n
			sum += n
		}
	}
	for _, n := range f.Latency {
		sum += n
	}
	return f, sum
}

// SaleBuys has the counts of all processes for a sale.
type SaleBuys struct {
	Attempts int64      `json:"attempts"`
	Reserved int64      `json:"reserved"`
	Rejected []Rejected `json:"rejected"`           // by layer and response code
	ToOrder  *WaitTimes `json:"to_order,omitempty"` // from buy attempt to order event; absent: none was measured
}

// Rejected is how many buys a layer rejected with a code.
type Rejected struct {
	Layer shop.Layer `json:"layer"`
	Code  shop.Code  `json:"code"`
	Buys  int64      `json:"buys"`
}

// BuysOf adds up the counts of the processes; nil for an empty list.
func BuysOf(figures []SaleFigures) *SaleBuys {
	if len(figures) == 0 {
		return nil
	}
	all, latency := &SaleBuys{Rejected: []Rejected{}}, LatencyCounts{}
	for i := range figures {
		all.Attempts += figures[i].Attempts
		all.Reserved += figures[i].Reserved
		latency.add(&figures[i].Latency)
	}
	for _, layer := range shop.Layers {
		for _, code := range shop.Codes {
			rejected := Rejected{Layer: layer, Code: code}
			for i := range figures {
				rejected.Buys += figures[i].Rejected[layer][code]
			}
			if rejected.Buys > 0 {
				all.Rejected = append(all.Rejected, rejected)
			}
		}
	}
	if times := latency.times(); times.N > 0 {
		all.ToOrder = &WaitTimes{Orders: times.N, P50: times.P50, P99: times.P99}
	}
	return all
}
