package catalog

import (
	"context"
	"math"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	tickInterval    = 100 * time.Millisecond // at most ten ticks per second
	rateWindow      = 5 * time.Second        // averaging window of the rate
	viewersInterval = time.Second            // interval between publications of this node's viewers
)

// Ticker is the only loop of a node that reads the counters of watched sales. Ticks are sent only by it. A tick is
// encoded once per watch set, for any number of clients.
type Ticker struct {
	Node      string
	Catalogue *Catalogue
	Stock     Stock
	Audience  Audience
	Clock     *shop.Clock
	Interval  func() time.Duration // interval between ticks, at least tickInterval; nil: tickInterval

	lastTick time.Time // start of the last tick; used only by RunOnce

	mu               sync.Mutex
	series           map[shop.ID]*doneSeries
	viewersPublished time.Time // when the viewers were last published
}

// doneSeries has the settled tickets of a sale over the last seconds, and the last state sent to its clients.
type doneSeries struct {
	at          [int(rateWindow/tickInterval) + 1]time.Time
	done        [int(rateWindow/tickInterval) + 1]int64
	next        int
	filled      int
	lastUse     time.Time
	initialized bool
	paused      bool
	version     int64
	added       int64
	rate        float64
}

// Run ticks until ctx ends.
func (t *Ticker) Run(ctx context.Context) error {
	return shop.Repeat(ctx, tickInterval, "ticker", t.RunOnce)
}

// RunOnce reads the counters once and sends them to the audience.
func (t *Ticker) RunOnce(ctx context.Context) error {
	// Half a tick of tolerance: a late timer must not cost a whole tick.
	if t.Interval != nil && time.Since(t.lastTick) < t.Interval()-tickInterval/2 {
		return nil
	}
	t.lastTick = time.Now()
	sales := t.sales(ctx, t.Audience.Watched())
	if len(sales) == 0 {
		return nil
	}
	refs := shop.RefsOf(sales)
	counters, err := t.Stock.Counters(ctx, refs)
	if err != nil && shop.UnreachableIn(err) == nil {
		return err
	}
	// sales of unavailable partitions get no tick
	counters = shop.RepliedCounters(refs, counters, shop.UnreachableIn(err))
	changed := t.updateRates(time.Now(), counters)
	t.Audience.Tick(t.Clock.Now(), counters)
	t.announce(ctx, changed)
	return t.publishViewers(ctx)
}

// sales returns the watched sales. It omits those that cannot be found.
func (t *Ticker) sales(ctx context.Context, watched []shop.ID) []*shop.Sale {
	sales := make([]*shop.Sale, 0, len(watched))
	for _, id := range watched {
		if sale, err := t.Catalogue.Sale(ctx, id); err == nil {
			sales = append(sales, sale)
		}
	}
	return sales
}

// updateRates sets the rates and returns the sales that an operator has changed since the last tick.
func (t *Ticker) updateRates(now time.Time, counters []shop.Counters) (changed []shop.Counters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.series == nil {
		t.series = make(map[shop.ID]*doneSeries)
	}
	for i := range counters {
		c := &counters[i]
		if !c.Loaded {
			continue
		}
		s := t.series[c.Sale]
		if s == nil {
			s = &doneSeries{}
			t.series[c.Sale] = s
		}
		c.Rate = s.push(now, c.Done)
		if s.initialized && (s.paused != c.Paused || s.version != c.Version || s.added != c.Added) {
			changed = append(changed, *c)
		}
		s.initialized, s.paused, s.version, s.added = true, c.Paused, c.Version, c.Added
	}
	for id, s := range t.series {
		if now.Sub(s.lastUse) > 2*rateWindow {
			delete(t.series, id)
		}
	}
	return changed
}

// push adds a point and returns the rate: tickets settled per second over the window, with one decimal.
func (s *doneSeries) push(now time.Time, done int64) float64 {
	s.at[s.next], s.done[s.next], s.lastUse = now, done, now
	s.next = (s.next + 1) % len(s.at)
	s.filled = min(s.filled+1, len(s.at))
	oldest := 0
	if s.filled == len(s.at) {
		oldest = s.next
	}
	span := now.Sub(s.at[oldest])
	s.rate = math.Round(max(0, float64(done-s.done[oldest]))/max(span, time.Second).Seconds()*10) / 10
	return s.rate
}

// WithRate sets the last rate of this node, for views between two ticks.
func (t *Ticker) WithRate(c shop.Counters) shop.Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.series[c.Sale]; s != nil {
		c.Rate = s.rate
	}
	return c
}

// announce sends the complete view of a sale to its watchers after an operator's change.
func (t *Ticker) announce(ctx context.Context, changed []shop.Counters) {
	for _, c := range changed {
		if sale, err := t.Catalogue.Sale(ctx, c.Sale); err == nil {
			t.Audience.SaleChanged(shop.ViewOf(sale, c, t.Clock.Now()))
		}
	}
}

// publishViewers publishes the viewers per sale of this node once per second.
func (t *Ticker) publishViewers(ctx context.Context) error {
	if time.Since(t.viewersPublished) < viewersInterval {
		return nil
	}
	t.viewersPublished = time.Now()
	counts := make(map[shop.SaleRef]int64)
	for id, n := range t.Audience.WatchedBy() {
		if sale, err := t.Catalogue.Sale(ctx, id); err == nil {
			counts[sale.Ref()] = n
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return t.Stock.SetWatching(ctx, t.Node, counts)
}
