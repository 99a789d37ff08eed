package streams

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

const (
	benchCallers = 256
	benchTime    = 500 * time.Millisecond
	benchBacklog = 100_000 // default of STAMPEDE_BACKLOG
)

// BenchmarkRatioGate compares the gate with one script call per buy: 256 concurrent buyers, the same Redis with an
// fsync per write, the same script. It reports the medians of both rates (buys per second) and of their ratio; the
// required ratio is 4. Grouped and single calls alternate in short rounds, one per iteration (-benchtime 12x), so that
// other load on the machine affects both.
func BenchmarkRatioGate(b *testing.B) {
	client := dial(b, kit.Redis(b), func(o *redis.Options) { o.PoolSize = benchCallers })
	l, err := New(Options{Client: client, Partitions: 1, Backlog: benchBacklog})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	// A background rewrite of the append-only file would slow down only one of the two.
	const rewrite = "auto-aof-rewrite-percentage"
	before, err := client.ConfigGet(ctx, rewrite).Result()
	if err != nil {
		b.Fatal(err)
	}
	if err := client.ConfigSet(ctx, rewrite, "0").Err(); err != nil {
		b.Fatal(err)
	}
	defer client.ConfigSet(ctx, rewrite, before[rewrite])
	g := NewGate(l)
	defer g.Close()
	var single, grouped, ratios []float64
	for b.Loop() {
		s, g := benchRound(b, l, g)
		single, grouped, ratios = append(single, s), append(grouped, g), append(ratios, g/s)
	}
	b.ReportMetric(median(single), "single/s")
	b.ReportMetric(median(grouped), "grouped/s")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(0, "ns/op")
}

// median returns the median: one disturbed round does not change it.
func median(rates []float64) float64 {
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// benchRound returns the rates of both gates. Buyers send the next buy as soon as they have a result, like clients on
// sockets: a single call blocks, the gate calls back.
func benchRound(b *testing.B, l *Inventory, g *Gate) (single, grouped float64) {
	b.Helper()
	ctx := context.Background()
	single = buyFor(b, l, func(c *benchCrowd) {
		for {
			buy, more := c.nextBuy()
			if !more {
				return
			}
			reply, err := reserveScript.run(ctx, l.client, reserveKeys(l, buy.Sale), l.Epoch(0), l.backlog,
				buy.Sale.ID.String(), 0, 0, 0,
				int64(buy.Order), int64(buy.User), buy.Qty, buy.Key, buy.Hash, buy.Address)
			if err != nil || len(reply) != 5 { // replies other than reserved have more values
				c.failed.Add(1)
			}
		}
	})
	grouped = buyFor(b, l, func(c *benchCrowd) {
		done := make(chan struct{})
		var buyNext func()
		buyNext = func() {
			buy, more := c.nextBuy()
			if !more {
				close(done)
				return
			}
			g.Reserve(buy, c.until.Add(time.Minute), func(d shop.GateResult, err error) {
				if err != nil || d.Verdict != shop.VerdictReserved {
					c.failed.Add(1)
				}
				buyNext()
			})
		}
		buyNext()
		<-done
	})
	return single, grouped
}

// benchCrowd buys in one sale until its end time.
type benchCrowd struct {
	sale   *shop.Sale
	until  time.Time
	users  atomic.Int64
	failed atomic.Int64
}

func (c *benchCrowd) nextBuy() (shop.Buy, bool) {
	return buyOf(c.sale, shop.ID(c.users.Add(1)), 1, "key-bench1"), time.Now().Before(c.until)
}

func reserveKeys(l *Inventory, sale shop.SaleRef) []string {
	k := &l.parts[sale.Partition].keys
	return []string{k.meta, k.orders, k.waiting, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
}

// buyFor lets 256 buyers buy in a new sale for benchTime and returns buys per second. The partition is new, too: no
// consumer is running, so each round leaves entries far beyond the backlog bound, and they must not slow down the next
// round.
func buyFor(b *testing.B, l *Inventory, buyer func(c *benchCrowd)) float64 {
	b.Helper()
	ctx := context.Background()
	s := &shop.Sale{ID: newID(), PriceFen: 100, Initial: 1 << 40, Limit: 1, Cap: 1, OpensAt: 1, ClosesAt: 1 << 50}
	epoch := l.Epoch(0) + 1 // within one epoch, seq must not go back
	if err := begin(ctx, l, 0, epoch); err != nil {
		b.Fatal(err)
	}
	if err := l.Stock().Create(ctx, epoch, shop.SaleState{Sale: s, Stock: s.Initial}); err != nil {
		b.Fatal(err)
	}
	defer l.client.Unlink(ctx, reserveKeys(l, s.Ref())[3:]...)
	if err := l.Stock().Arm(ctx, epoch, s.Ref()); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	c := &benchCrowd{sale: s, until: begin.Add(benchTime)}
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() { buyer(c) })
	}
	wg.Wait()
	took := time.Since(begin)
	if n := c.failed.Load(); n > 0 {
		b.Fatalf("%d buys failed", n)
	}
	bought := c.users.Load() - benchCallers // the last buy of each buyer was too late
	return float64(bought) / took.Seconds()
}
