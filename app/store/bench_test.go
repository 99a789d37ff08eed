package store_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	benchGroup   = 500 // rows of one grouped insert, as in a consumer's batch
	benchWriters = 4   // consumers of several partitions
	benchConns   = 16  // connections that write one row per transaction
	benchFor     = time.Second
)

// BenchmarkRatioFulfil compares grouped fulfilment with one row per transaction on 16 connections, on one MariaDB with
// one flush per commit. Both alternate, one round per iteration (-benchtime 5x), so that other load on the machine
// affects both. It compares the medians; the required ratio is 15.
func BenchmarkRatioFulfil(b *testing.B) {
	h := newShop(b, onMariaDB(b), 1e9)
	if weak, err := h.Weaknesses(h.ctx); err != nil || len(weak) > 0 {
		b.Fatalf("the database settings are too weak for durable commits: %v (%v)", weak, err)
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

// rowsPerSecond measures writers that insert groups of the given size for benchFor.
func rowsPerSecond(b *testing.B, h *testShop, writers, size int) float64 {
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

func (s *testShop) analyze() error {
	_, err := s.DB().ExecContext(s.ctx, "ANALYZE TABLE orders")
	return err
}
