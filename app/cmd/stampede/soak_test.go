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
	// heapPerOrder is what an order may leave behind in this process, which here is Redis and database cache as well:
	// its keys stay for a day, its stream entry for an hour.
	heapPerOrder = 8 << 10
)

// sample is what the process holds at one moment.
type sample struct{ goroutines, descriptors, heap, orders float64 }

// TestSoak lets the demo run for long (STAMPEDE_SOAK_FOR, an hour) with slots of STAMPEDE_SOAK_SLOT (five minutes) and
// STAMPEDE_SOAK_SHOPPERS (100): every slot moves, and what the process holds does not grow with time. What is held in
// the second fifth of the time is compared with the last fifth.
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
		if !moved[slot] && i > 0 { // the first one is cut
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

// flat fails when something has grown by more than a twentieth and the slack.
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

// reservations reads how many buys were accepted since the start.
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
