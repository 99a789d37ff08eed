package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// TestDemoMovesInEverySlot: a crowd that follows the current slot, as in an evening, is there and buys in each of
// twelve. It fell silent in the fifth when what had ended was watched for ever and nobody looked at the refusal.
func TestDemoMovesInEverySlot(t *testing.T) {
	t.Parallel()
	const slots, length = 12, 6 * time.Second
	demo := startDemo(t, "--shoppers", "20", "--slot", length.String())
	var seen []app.ID // in their order; the first is cut
	moved := make(map[app.ID]bool)
	kit.Eventually(t, 2*slots*length, func() (bool, string) {
		open, moves, why := demo.slot()
		if open != 0 && !slices.Contains(seen, open) {
			seen = append(seen, open)
		}
		moved[open] = moved[open] || moves
		return len(seen) > slots && moved[open], fmt.Sprintf("in slot %d %s", len(seen), why)
	})
	for i, slot := range seen[1:] {
		if !moved[slot] {
			t.Errorf("slot %d of %d was silent", i+2, len(seen))
		}
	}
	demo.stop()
}

// running is a demo that is open.
type running struct {
	base, metrics string
	stop          func() // ends it in order
}

var demoAddresses = regexp.MustCompile(`(?s)(http://127\.0\.0\.1:\d+).*(http://127\.0\.0\.1:\d+/metrics)`)

// startDemo opens the demo in a folder of its own.
func startDemo(t *testing.T, args ...string) running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out printed
	ended := make(chan int, 1)
	args = append([]string{"demo", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
	go func() { ended <- run(ctx, args, nil, strings.NewReader(""), &out, &out) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case code := <-ended:
			if code != exitOK {
				t.Errorf("code %d\n%s", code, out.String())
			}
		case <-time.After(time.Minute):
			t.Error("the demo did not end")
		}
	})
	t.Cleanup(stop)
	var found []string
	kit.Eventually(t, time.Minute, func() (bool, string) {
		found = demoAddresses.FindStringSubmatch(out.String())
		return found != nil, out.String()
	})
	return running{base: found[1], metrics: found[2], stop: stop}
}

// slot tells which slot is open, and whether people are in it and buy.
func (r running) slot() (open app.ID, moves bool, why string) {
	var day struct{ Slots []app.Slot }
	if err := ask(r.base+"/api/v1/slots", &day); err != nil {
		return 0, false, err.Error()
	}
	for _, slot := range day.Slots {
		if slot.Phase == app.Open {
			open = slot.ID
		}
	}
	var offer struct{ Sales []app.SaleView }
	if err := ask(r.base+"/api/v1/slots/"+open.String()+"/sales", &offer); err != nil {
		return open, false, err.Error()
	}
	var held, watching int64
	var rate float64
	for _, sale := range offer.Sales {
		held, watching, rate = held+sale.Held, max(watching, sale.Watching), rate+sale.Rate
	}
	return open, held > 0 && watching > 0 && rate > 0,
		fmt.Sprintf("%d units are held, %d people watch, %.1f orders are settled a second", held, watching, rate)
}

// ask reads an answer of the shop.
func ask(url string, into any) (err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
