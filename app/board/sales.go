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

// SaleFigures is what one process has counted of a sale so far.
type SaleFigures struct {
	Sale     shop.ID                            `json:"-"`
	By       string                             `json:"-"` // the process, and when it began to count this sale
	Pressed  int64                              `json:"pressed"`
	Reserved int64                              `json:"reserved"`
	Away     map[shop.Layer]map[shop.Code]int64 `json:"away,omitempty"`
	Press    PressCounts                        `json:"press"`
}

// SaleFiguresLife is how long a report can say what was counted of a sale.
const SaleFiguresLife = 40 * 24 * time.Hour

const (
	// mostCounted bounds how many sales a process counts at once; of more, nothing is counted.
	mostCounted = 1024
	// countedIdle is how long nothing may happen to a sale before the process forgets what it has said of it.
	countedIdle = time.Hour
	// countsWithin bounds one word to Redis.
	countsWithin = 2 * time.Second
)

// SaleCounts counts the outcomes of buys by sale, without locks or allocations. A sale is counted from its first buy
// on; changed sums are published once a second, and idle sales are dropped. A process that dies loses about one second.
// A nil SaleCounts counts nothing.
type SaleCounts struct {
	Redis   Redis
	Process string // its name, which no other process has had
	Now     func() shop.Millis

	counted atomic.Pointer[map[shop.ID]*saleTally]
	mu      sync.Mutex // whoever makes another map
}

// saleTally is what is counted of one sale.
type saleTally struct {
	Tally
	away  [len(shop.Layers)]Tally // their refused ones
	waits PressClock
	by    string

	said  int64       // the sum of all counts when they were said last; of RunOnce alone
	moved shop.Millis // when it was another one; likewise
}

// Count counts a buy of a sale that exists, by its result (see Tally.Count) and the layer of a refusal.
func (c *SaleCounts) Count(sale shop.ID, layer shop.Layer, reserved bool, err error) {
	if c == nil {
		return
	}
	t := c.tally(sale)
	if t == nil {
		t = c.begin(sale)
	}
	t.count(layer, reserved, err)
}

// TurnAway counts a buy that a layer refused before it was known whether the sale exists.
func (c *SaleCounts) TurnAway(sale shop.ID, layer shop.Layer, err error) {
	c.tally(sale).count(layer, false, err)
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
	t.pressed.Add(1)
}

// Told counts how long an order took from the press until its buyer heard of it.
func (c *SaleCounts) Told(sale shop.ID, took time.Duration) {
	if t := c.tally(sale); t != nil {
		t.waits.Observe(took)
	}
}

// tally is nil for a sale that is not counted.
func (c *SaleCounts) tally(sale shop.ID) *saleTally {
	if c == nil {
		return nil
	}
	all := c.counted.Load()
	if all == nil {
		return nil
	}
	return (*all)[sale]
}

// begin counts a sale from now on; nil when there are too many.
func (c *SaleCounts) begin(sale shop.ID) *saleTally {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[shop.ID]*saleTally{}
	if known := c.counted.Load(); known != nil {
		if t := (*known)[sale]; t != nil {
			return t // somebody was faster
		}
		if len(*known) >= mostCounted {
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

// forget ends the counting of sales. A counter in use meanwhile is lost: they must have been idle for long.
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
	err := shop.Repeat(ctx, Every, "say what was counted of sales", c.RunOnce)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), countsWithin)
	defer cancel()
	if failed := c.RunOnce(last); failed != nil {
		slog.WarnContext(last, "what was counted of sales in the last second is lost", "err", failed)
	}
	return err
}

// RunOnce says what has changed since the last word.
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
	if err := c.Redis.SaySaleFigures(ctx, changed); err != nil {
		return err
	}
	for sale, sum := range sums {
		t := (*known)[sale]
		t.said, t.moved = sum, now
	}
	return nil
}

// figures are all counts, and their sum, which grows with each.
func (t *saleTally) figures() (f SaleFigures, sum int64) {
	f = SaleFigures{By: t.by, Pressed: t.Pressed(), Reserved: t.Reserved(), Press: t.waits.Counts()}
	sum = f.Pressed + f.Reserved
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

// SalePresses is what all processes have counted of a sale.
type SalePresses struct {
	Pressed    int64        `json:"pressed"`
	Reserved   int64        `json:"reserved"`
	TurnedAway []TurnedAway `json:"turned_away"`        // by the layer, and by the code that people heard
	ToOrder    *SaleWaits   `json:"to_order,omitempty"` // from the press until the order was told; absent: nobody waited
}

// TurnedAway is how many presses a layer refused with a code.
type TurnedAway struct {
	Layer shop.Layer `json:"layer"`
	Code  shop.Code  `json:"code"`
	Buys  int64      `json:"buys"`
}

// PressesOf adds up what the processes said; nil when none has.
func PressesOf(said []SaleFigures) *SalePresses {
	if len(said) == 0 {
		return nil
	}
	all, press := &SalePresses{TurnedAway: []TurnedAway{}}, PressCounts{}
	for i := range said {
		all.Pressed += said[i].Pressed
		all.Reserved += said[i].Reserved
		press.add(&said[i].Press)
	}
	for _, layer := range shop.Layers {
		for _, code := range codes {
			away := TurnedAway{Layer: layer, Code: code}
			for i := range said {
				away.Buys += said[i].Away[layer][code]
			}
			if away.Buys > 0 {
				all.TurnedAway = append(all.TurnedAway, away)
			}
		}
	}
	if times := press.times(); times.N > 0 {
		all.ToOrder = &SaleWaits{Orders: times.N, P50: times.P50, P99: times.P99}
	}
	return all
}
