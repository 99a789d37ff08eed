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
	"testing"
	"time"

	"stampede/app"
	"stampede/app/apptest"
)

// TestDemoMovesInEverySlot: a crowd that follows the current slot, as in an evening, is there and buys in each of twelve. It
// fell silent in the fifth when what had ended was watched for ever and nobody looked at the refusal.
func TestDemoMovesInEverySlot(t *testing.T) {
	t.Parallel()
	const slots, length = 12, 6 * time.Second
	base, stop := startDemo(t, "--shoppers", "20", "--slot", length.String())
	var seen []app.ID // in their order; the first is cut
	moved := make(map[app.ID]bool)
	apptest.Eventually(t, 2*slots*length, func() (bool, string) {
		open, err := currentSlot(base)
		if err != nil || open == 0 || moved[open] {
			return len(seen) > slots && moved[open], fmt.Sprintf("%d slots, %d moved, %v", len(seen), len(moved), err)
		}
		if !slices.Contains(seen, open) {
			seen = append(seen, open)
		}
		var page struct{ Sales []app.SaleView }
		if err := ask(base+"/api/v1/slots/"+open.String()+"/sales", &page); err != nil {
			return false, err.Error()
		}
		var held, watching int64
		var rate float64
		for _, sale := range page.Sales {
			held, watching, rate = held+sale.Held, max(watching, sale.Watching), rate+sale.Rate
		}
		moved[open] = held > 0 && watching > 0 && rate > 0
		return false, fmt.Sprintf("%d slots, %d moved; in slot %s %d are held, %d watch, %.1f are sold a second",
			len(seen), len(moved), open, held, watching, rate)
	})
	for i, slot := range seen[1:] {
		if !moved[slot] {
			t.Errorf("slot %d of %d was silent", i+2, len(seen))
		}
	}
	stop()
}

// startDemo opens the demo in a folder of its own; stop ends it in order.
func startDemo(t *testing.T, args ...string) (base string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out printed
	ended := make(chan int, 1)
	args = append([]string{"demo", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
	go func() { ended <- run(ctx, args, nil, &out, &out) }()
	stop = func() {
		cancel()
		select {
		case code := <-ended:
			ended <- code
			if code != exitOK {
				t.Errorf("code %d\n%s", code, out.String())
			}
		case <-time.After(30 * time.Second):
			t.Error("the demo did not end")
		}
	}
	t.Cleanup(stop)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	apptest.Eventually(t, 60*time.Second, func() (bool, string) { return address.MatchString(out.String()), out.String() })
	return address.FindString(out.String()), stop
}

func currentSlot(base string) (app.ID, error) {
	var page struct{ Slots []app.Slot }
	if err := ask(base+"/api/v1/slots", &page); err != nil {
		return 0, err
	}
	for _, slot := range page.Slots {
		if slot.Phase == app.Open {
			return slot.ID, nil
		}
	}
	return 0, nil
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
