package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// TestDemoSellsInConsecutiveSlots: on embedded stores, simulated shoppers buy in two slots and the audit of every sale
// passes. Stores in the environment are ignored. On a busy machine a slot may end before the shoppers connect. `just
// soak` checks twelve consecutive slots: the shoppers once stopped in the fifth, because ended slots stayed watched and
// error replies were ignored.
func TestDemoSellsInConsecutiveSlots(t *testing.T) {
	t.Parallel()
	const slots, length, shoppers = 2, 12 * time.Second, 8
	demo := startDemo(t, "--shoppers", fmt.Sprint(shoppers), "--slot", length.String())
	active := make(map[shop.ID]bool) // slots with buys
	var held, watching int64
	kit.Eventually(t, 5*time.Minute, func() (bool, string) {
		open, now, err := demo.openSlot()
		if now.isActive() {
			active[open] = true
		}
		held, watching = max(held, now.held), max(watching, now.watching)
		return len(active) >= slots && held >= 2 && watching >= shoppers,
			fmt.Sprintf("slot %s: %+v; bought in %d slots, at most %d held and %d watching, %v",
				open, now, len(active), held, watching, err)
	})
	code, text, errOut := runCommand(t, []string{"STAMPEDE_DATA=" + demo.data}, "audit")
	if code != exitOK || !strings.Contains(text, "0 failed") || !strings.Contains(text, "proved") {
		t.Errorf("audit: got code %d, want 0\n%s%s", code, text, errOut)
	}
	if code, text, _ := runCommand(t, []string{"STAMPEDE_DATA=" + demo.data}, "audit", "--sale", "4", "--json"); code != exitFailed {
		t.Errorf("audit of an unknown sale: got code %d and output %s", code, text)
	}
	demo.stop()
}

// runningDemo is a demo that is ready.
type runningDemo struct {
	base, metrics, data string
	stop                func() // shuts the demo down gracefully
}

var demoAddresses = regexp.MustCompile(`(?s)(http://127\.0\.0\.1:\d+).*(http://127\.0\.0\.1:\d+/metrics)`)

// startDemo starts a demo in a new folder. The environment names a Redis that the demo must not use.
func startDemo(t *testing.T, args ...string) runningDemo {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out output
	ended, data := make(chan int, 1), t.TempDir()
	args = append([]string{"demo", "--listen", "127.0.0.1:0", "--data", data}, args...)
	environ := []string{"STAMPEDE_REDIS_URL=redis://127.0.0.1:1"}
	go func() {
		ended <- run(&env{ctx: ctx, args: args, environ: environ, in: strings.NewReader(""), out: &out, err: &out})
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case code := <-ended:
			if code != exitOK {
				t.Errorf("the demo ended with code %d, want 0\n%s", code, out.String())
			}
		case <-time.After(time.Minute):
			t.Error("the demo did not end after the signal")
		}
	})
	t.Cleanup(stop)
	var found []string
	kit.Eventually(t, time.Minute, func() (bool, string) {
		found = demoAddresses.FindStringSubmatch(out.String())
		return found != nil, out.String()
	})
	return runningDemo{base: found[1], metrics: found[2], data: data, stop: stop}
}

// activity is the activity in the open slot.
type activity struct {
	held, watching int64
	rate           float64 // orders settled per second
}

func (c activity) isActive() bool { return c.held > 0 && c.watching > 0 && c.rate > 0 }

// openSlot returns the open slot and the activity in it.
func (r runningDemo) openSlot() (open shop.ID, now activity, err error) {
	var day struct{ Slots []shop.Slot }
	if err := get(r.base+"/api/v1/slots", &day); err != nil {
		return 0, now, err
	}
	for _, slot := range day.Slots {
		if slot.Phase == shop.Open {
			open = slot.ID
		}
	}
	var offer struct{ Sales []shop.SaleView }
	err = get(r.base+"/api/v1/slots/"+open.String()+"/sales", &offer)
	for _, sale := range offer.Sales {
		now.held, now.watching, now.rate = now.held+sale.Held, max(now.watching, sale.Watching), now.rate+sale.Rate
	}
	return open, now, err
}

// get decodes a response of the shop.
func get(url string, into any) (err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
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
