package store_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app"
)

const (
	benchGroup   = 500 // rows of one grouped insert, as a consumer reads them
	benchWriters = 4   // consumers, of several partitions
	benchConns   = 16  // connections that write one row per transaction
	benchFor     = time.Second
)

// BenchmarkRatioFulfil compares grouped fulfilment with one row per transaction on 16 connections, on the
// same MariaDB with one flush per commit. The two take turns, one round per iteration (-benchtime 5x), so that a busy
// moment of the machine hits both; the medians count. The bar is a ratio of 15.
func BenchmarkRatioFulfil(b *testing.B) {
	h := newShop(b, onMariaDB(b), 1e9)
	if weak, err := h.Weaknesses(h.ctx); err != nil || len(weak) > 0 {
		b.Fatalf("these would not be durable commits: %v (%v)", weak, err)
	}
	var single, grouped []float64
	for b.Loop() {
		single = append(single, rowsPerSecond(b, h, benchConns, 1))
		grouped = append(grouped, rowsPerSecond(b, h, benchWriters, benchGroup))
	}
	b.ReportMetric(median(single), "single/s")
	b.ReportMetric(median(grouped), "grouped/s")
	b.ReportMetric(median(grouped)/median(single), "ratio")
	b.ReportMetric(0, "ns/op")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// rowsPerSecond lets the writers insert groups of the size given for a while.
func rowsPerSecond(b *testing.B, h *shop, writers, size int) float64 {
	b.Helper()
	var rows atomic.Int64
	var g errgroup.Group
	started := time.Now()
	for range writers {
		g.Go(func() error {
			for time.Since(started) < benchFor {
				written, err := h.Insert(h.ctx, h.epoch, h.orders(size, h.sales[0], 1))
				if err != nil {
					return err
				}
				rows.Add(int64(len(written)))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(rows.Load()) / time.Since(started).Seconds()
}

// BenchmarkExpire expires orders in batches, as the sweeper does.
func BenchmarkExpire(b *testing.B) {
	h := newShop(b, onMariaDB(b), 1e9)
	var pending [][]app.ID
	for range max(b.N, 1) {
		rows := h.orders(1000, h.sales[0], 1)
		h.insert(rows...)
		pending = append(pending, ids(rows))
	}
	b.ResetTimer()
	for i := range b.N {
		if _, err := h.Expire(h.ctx, pending[i], payBy); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "orders/s")
}

const (
	changedUsers = 200     // of one statement, as a node asks for them
	changedEach  = 10      // orders of each of them
	changedOther = 100_000 // orders of others
)

// BenchmarkChanged shows what a node's questions cost: 200 buyers with ten orders each, of whom nothing, one order each
// or everything has changed; and the same beside a buyer with 2,000 orders that have all changed.
func BenchmarkChanged(b *testing.B) {
	h := newShop(b, onMariaDB(b), 1e9)
	for range changedOther / 1000 {
		h.insert(h.orders(1000, h.sales[0], 1)...)
	}
	queries := make([]app.ChangesQuery, changedUsers)
	for i := range queries {
		queries[i] = since(h.ofUser(changedEach, longAgo)[0].User, 0)
	}
	many := h.ofUser(2000, longAgo)
	h.must(h.analyze())
	for _, c := range []struct {
		name    string
		since   app.Millis
		changed int // orders that are answered
		besides int // buyers with 2,000 orders
	}{
		{"nothing", longAgo + changedEach, 0, 0},
		{"one-each", longAgo + changedEach - 1, changedUsers, 0},
		{"everything", longAgo, changedUsers * changedEach, 0},
		{"one-each-beside-2000", longAgo + changedEach - 1, changedUsers + 100, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			asked := slices.Clone(queries)
			for range c.besides {
				asked[0] = since(many[0].User, 0)
			}
			for i := range asked {
				asked[i].Since = c.since
			}
			for b.Loop() {
				got, _, err := h.Changed(h.ctx, asked, 100)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for i := range got {
					n += len(got[i].Orders)
				}
				if want := c.changed - c.besides; n != want {
					b.Fatalf("%d orders, want %d", n, want)
				}
			}
		})
	}
}

func (h *shop) analyze() error {
	_, err := h.DB().ExecContext(h.ctx, "ANALYZE TABLE orders")
	return err
}
