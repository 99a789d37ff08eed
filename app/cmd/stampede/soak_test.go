//go:build soak && linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
)

const (
	soakInterval = 10 * time.Second
	// soakWarmUp is the time until orders, payments and connection pools reach their usual number: an order of the demo
	// lives for up to one minute.
	soakWarmUp = 2 * time.Minute
	// heapPerOrder is the permitted heap growth per order. The process also contains Redis and the database cache. The
	// keys of an order stay for a day, its stream entry for an hour, its trade at the simulated Alipay for two days. A
	// heap profile shows 3.6 KB per order.
	heapPerOrder = 8 << 10
)

// sample contains the resource usage of the process at one time.
type sample struct{ goroutines, files, heap, orders float64 }

// TestSoakUsesConstantResources runs the demo for STAMPEDE_SOAK_FOR (1h) with slots of STAMPEDE_SOAK_SLOT (5m) and
// STAMPEDE_SOAK_SHOPPERS (100). Every slot must have buys, and the resource usage must not grow with time. The test
// takes samples after a warm-up and compares their first quarter with the last one.
func TestSoakUsesConstantResources(t *testing.T) {
	length, slot := soakDuration(t, "STAMPEDE_SOAK_FOR", "1h"), soakDuration(t, "STAMPEDE_SOAK_SLOT", "5m")
	shoppers := cmp.Or(os.Getenv("STAMPEDE_SOAK_SHOPPERS"), "100")
	demo := startDemo(t, nil, "--shoppers", shoppers, "--slot", slot.String())
	t.Logf("the demo for %s, slots of %s, %s shoppers", length, slot, shoppers)

	var samples []sample
	var openedSlots []shop.ID
	active := make(map[shop.ID]bool)
	ticker := time.NewTicker(min(soakInterval, slot/5))
	defer ticker.Stop()
	for end, next := time.Now().Add(length), time.Now().Add(soakWarmUp); time.Now().Before(end); <-ticker.C {
		begin := time.Now()
		open, now, err := demo.openSlot()
		if took := time.Since(begin); err != nil || took > slot/5 { // a busy machine: slots can pass without buys
			t.Logf("the read of the open slot %s took %s, error %v", open, took.Round(time.Millisecond), err)
		}
		if open != 0 && !slices.Contains(openedSlots, open) {
			openedSlots = append(openedSlots, open)
		}
		active[open] = active[open] || now.isActive()
		if now := time.Now(); !now.Before(next) {
			next = now.Add(soakInterval)
			samples = append(samples, takeSample(t, demo.metrics))
		}
	}
	for i, slot := range openedSlots[:len(openedSlots)-1] {
		if !active[slot] && i > 0 { // the first slot may be short
			t.Errorf("slot %d of %d had no buys", i+1, len(openedSlots))
		}
	}
	quarter := len(samples) / 4
	if quarter == 0 {
		t.Fatalf("got %d samples after the warm-up of %s, want at least 4", len(samples), soakWarmUp)
	}
	early, late := typical(samples[:quarter]), typical(samples[len(samples)-quarter:])
	orders := late.orders - early.orders
	t.Logf("%d slots, %.0f orders; from the first quarter to the last: goroutines %.0f → %.0f, descriptors %.0f → %.0f, "+
		"live heap %.1f → %.1f MB, %.0f bytes for each of %.0f orders", len(openedSlots), late.orders, early.goroutines,
		late.goroutines,
		early.files, late.files, early.heap/1e6, late.heap/1e6, (late.heap-early.heap)/max(orders, 1),
		orders)
	checkGrowth(t, "goroutines", early.goroutines, late.goroutines, 20)
	checkGrowth(t, "descriptors", early.files, late.files, 10)
	checkGrowth(t, "live heap", early.heap, late.heap, 4e6+orders*heapPerOrder)
	demo.stop()
}

// checkGrowth fails if a value has grown by more than 5 % plus the allowance.
func checkGrowth(t *testing.T, name string, early, late, allowance float64) {
	t.Helper()
	if late > early*1.05+allowance {
		t.Errorf("%s grew from %.0f to %.0f, want at most %.0f", name, early, late, early*1.05+allowance)
	}
}

// typical returns the medians of the samples, and the smallest heap: objects that are allocated during a collection
// count as live, up to 10 MB on a busy machine.
func typical(samples []sample) sample {
	middle := func(value func(s sample) float64) float64 {
		values := make([]float64, len(samples))
		for i := range samples {
			values[i] = value(samples[i])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		goroutines: middle(func(s sample) float64 { return s.goroutines }),
		files:      middle(func(s sample) float64 { return s.files }),
		heap:       slices.MinFunc(samples, func(a, b sample) int { return cmp.Compare(a.heap, b.heap) }).heap,
		orders:     middle(func(s sample) float64 { return s.orders }),
	}
}

func takeSample(t *testing.T, address string) sample {
	t.Helper()
	runtime.GC()
	// MemStats.HeapAlloc also counts the allocations between the collection and the read: up to 70 MB on a busy
	// machine.
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return sample{
		float64(runtime.NumGoroutine()), float64(len(open)), float64(live[0].Value.Uint64()), reservations(t, address),
	}
}

// reservations returns the number of accepted buys since the start.
func reservations(t *testing.T, address string) (n float64) {
	t.Helper()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, `stampede_gate_verdicts_total{verdict="reserved"} `); ok {
			n, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return n
}

func soakDuration(t *testing.T, name, fallback string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv(name), fallback))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return d
}
