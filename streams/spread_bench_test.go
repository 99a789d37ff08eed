package streams

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"stampede/app"
)

// BenchmarkSpread is what a buy of one hot sale costs a node on a cluster of three primaries, which have a processor
// each where there are as many: in one partition, and dealt out to three portions, one on each primary.
func BenchmarkSpread(b *testing.B) {
	for _, portions := range []int{1, 3} {
		b.Run(fmt.Sprintf("portions-%d", portions), func(b *testing.B) { benchmarkSpread(b, portions) })
	}
}

func benchmarkSpread(b *testing.B, portions int) {
	f := onCluster(b, 3)
	f.inventory.backlog = 1 << 40 // nobody takes the entries
	g := NewGate(f.inventory)
	defer g.Close()
	sale := new(app.Sale)
	for _, primary := range f.cluster.Primaries[:portions] {
		s := f.openSale(1<<40, func(s *app.Sale) { s.Partition, s.Limit, s.Cap = f.on(primary)[0], 1, 1 })
		if sale.ID == 0 {
			sale = s
		}
		sale.Portions = append(sale.Portions, app.Portion{SaleRef: s.Ref()})
	}
	buy := buyOf(sale, 0, 1, "key-bench1")
	var users atomic.Int64
	b.SetParallelism(benchCallers)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one := buy
			one.User = app.ID(users.Add(1))
			one.Order = app.ID(1_791_000_000_000_000_000 + int64(one.User))
			one.Sale, _ = sale.Home(one.User)
			d, err := decided(context.Background(), g, one)
			if err != nil || d.Verdict != app.VerdictReserved {
				b.Errorf("verdict %d, %v", d.Verdict, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "buys/s")
}
