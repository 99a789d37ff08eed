//go:build soak && linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
)

const (
	soakEvery = 10 * time.Second
	// heapPerOrder is the permitted heap growth per order. The process also contains Redis and the database cache. The
	// keys of an order stay for a day, its stream entry for an hour.
	heapPerOrder = 8 << 10
)

// sample contains the resource usage of the process at one time.
type sample struct{ goroutines, descriptors, heap, orders float64 }

// TestSoak runs the demo for STAMPEDE_SOAK_FOR (1h) with slots of STAMPEDE_SOAK_SLOT (5m) and STAMPEDE_SOAK_SHOPPERS
// (100). Every slot must have buys, and the resource usage must not grow with time. The test compares the second fifth
// of the time with the last fifth.
func TestSoak(t *testing.T) {
	length, slot := soakTime(t, "STAMPEDE_SOAK_FOR", "1h"), soakTime(t, "STAMPEDE_SOAK_SLOT", "5m")
	shoppers := cmp.Or(os.Getenv("STAMPEDE_SOAK_SHOPPERS"), "100")
	demo := startDemo(t, "--shoppers", shoppers, "--slot", slot.String())
	t.Logf("the demo for %s, slots of %s, %s shoppers", length, slot, shoppers)

	var samples []sample
	var seen []shop.ID
	moved := make(map[shop.ID]bool)
	beat := time.NewTicker(min(soakEvery, slot/5))
	defer beat.Stop()
	for end, next := time.Now().Add(length), time.Now(); time.Now().Before(end); <-beat.C {
		open, now, _ := demo.slot()
		if open != 0 && !slices.Contains(seen, open) {
			seen = append(seen, open)
		}
		moved[open] = moved[open] || now.moves()
		if now := time.Now(); !now.Before(next) {
			next = now.Add(soakEvery)
			samples = append(samples, takeSample(t, demo.metrics))
		}
	}
	for i, slot := range seen[:len(seen)-1] {
		if !moved[slot] && i > 0 { // the first slot may be short
			t.Errorf("slot %d of %d was silent", i+1, len(seen))
		}
	}
	fifth := len(samples) / 5
	if fifth == 0 {
		t.Fatalf("%d samples are too few", len(samples))
	}
	early, late := median(samples[fifth:2*fifth]), median(samples[4*fifth:])
	orders := late.orders - early.orders
	t.Logf("%d slots, %.0f orders; from the second fifth to the last: goroutines %.0f → %.0f, descriptors %.0f → %.0f, "+
		"live heap %.1f → %.1f MB, %.0f bytes for each of %.0f orders", len(seen), late.orders, early.goroutines,
		late.goroutines,
		early.descriptors, late.descriptors, early.heap/1e6, late.heap/1e6, (late.heap-early.heap)/max(orders, 1),
		orders)
	flat(t, "goroutines", early.goroutines, late.goroutines, 20)
	flat(t, "descriptors", early.descriptors, late.descriptors, 10)
	flat(t, "live heap", early.heap, late.heap, 4e6+orders*heapPerOrder)
	demo.stop()
}

// flat fails if a value has grown by more than 5 % plus the slack.
func flat(t *testing.T, what string, early, late, slack float64) {
	t.Helper()
	if late > early*1.05+slack {
		t.Errorf("%s grew from %.0f to %.0f", what, early, late)
	}
}

func median(of []sample) sample {
	middle := func(value func(s sample) float64) float64 {
		values := make([]float64, len(of))
		for i := range of {
			values[i] = value(of[i])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		goroutines:  middle(func(s sample) float64 { return s.goroutines }),
		descriptors: middle(func(s sample) float64 { return s.descriptors }),
		heap:        middle(func(s sample) float64 { return s.heap }),
		orders:      middle(func(s sample) float64 { return s.orders }),
	}
}

func takeSample(t *testing.T, metrics string) sample {
	t.Helper()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return sample{
		float64(runtime.NumGoroutine()), float64(len(open)), float64(memory.HeapAlloc), reservations(t, metrics),
	}
}

// reservations returns the number of accepted buys since the start.
func reservations(t *testing.T, metrics string) (n float64) {
	t.Helper()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(metrics)
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

func soakTime(t *testing.T, name, fallback string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv(name), fallback))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return d
}
