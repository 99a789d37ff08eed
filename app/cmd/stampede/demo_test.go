package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// TestDemoSellsInConsecutiveSlots: on embedded stores, simulated shoppers buy in two slots, orders are paid, cancelled
// and expire, and the audit of every sale passes. Stores in the environment are ignored. On a busy machine a slot may
// end before the shoppers connect. `just soak` checks twelve consecutive slots: the shoppers once stopped in the fifth,
// because ended slots stayed watched and error replies were ignored.
func TestDemoSellsInConsecutiveSlots(t *testing.T) {
	t.Parallel()
	const slots, length, shoppers = 2, 12 * time.Second, 8
	demo := startDemo(t, []string{"STAMPEDE_PAY_WINDOW=5s"}, "--shoppers", fmt.Sprint(shoppers), "--slot", length.String())
	operator := []string{"STAMPEDE_DATA=" + demo.data, "STAMPEDE_URL=" + demo.base}
	_, token, _ := runCommand(t, operator, "token", "--user", "1", "--role", "admin")
	operator = append(operator, "STAMPEDE_TOKEN="+strings.TrimSpace(token))
	active := make(map[shop.ID]bool) // slots with buys
	states := make(map[shop.OrderState]bool)
	var held, sold, watching int64
	kit.Eventually(t, 5*time.Minute, func() (bool, string) {
		open, now, err := demo.openSlot()
		if now.isActive() {
			active[open] = true
		}
		held, sold, watching = max(held, now.held), max(sold, now.sold), max(watching, now.watching)
		err = errors.Join(err, addStates(t, operator, now.sales, states))
		return len(active) >= slots && held >= 2 && sold >= 2 && watching >= shoppers &&
				states[shop.Paid] && states[shop.Cancelled] && states[shop.Expired],
			fmt.Sprintf("slot %s: %+v; bought in %d slots, at most %d held, %d sold and %d watching, order states %v, %v",
				open, now, len(active), held, sold, watching, states, err)
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

var demoConsole = regexp.MustCompile(`http://\S+/console +\(e-mail (\S+), password (\S+)\)`)

// TestDemoOperatorLogsIn: the first start of a demo logs no warning and prints an account that may use the whole
// console. Later starts print the same account, also after --fresh.
func TestDemoOperatorLogsIn(t *testing.T) {
	t.Parallel()
	demo := startDemo(t, nil, "--shoppers", "0")
	text := demo.output.String()
	if strings.Contains(text, "level=") {
		t.Errorf("the first start logs warnings or errors, want only addresses\n%s", text)
	}
	first := requireDemoOperator(t, demo)
	for _, flags := range [][]string{nil, {"--fresh"}} {
		demo.stop()
		demo = startDemo(t, nil, append([]string{"--shoppers", "0", "--data", demo.data}, flags...)...)
		if again := requireDemoOperator(t, demo); again != first {
			t.Errorf("a start with %q prints the password %q, want %q", flags, again, first)
		}
	}
	info, err := os.Stat(filepath.Join(demo.data, "operator.password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the password: got %v, %v, want the mode 0600", info, err)
	}
}

// requireDemoOperator logs in with the printed account, lists the accounts as an admin and returns the password.
func requireDemoOperator(t *testing.T, demo runningDemo) (password string) {
	t.Helper()
	found := demoConsole.FindStringSubmatch(demo.output.String())
	if found == nil {
		t.Fatalf("the demo prints no account for the console\n%s", demo.output.String())
	}
	environ := []string{"STAMPEDE_URL=" + demo.base, "XDG_CONFIG_HOME=" + t.TempDir()}
	if code, text, errOut := runCommandWith(t, found[2]+"\n", environ, "login", found[1]); code != exitOK {
		t.Fatalf("login: got code %d, want 0\n%s%s", code, text, errOut)
	}
	code, text, errOut := runCommand(t, environ, "user", "list", "--role", "admin")
	if code != exitOK || !strings.Contains(text, found[1]) {
		t.Errorf("user list: got code %d, want 0 and %s\n%s%s", code, found[1], text, errOut)
	}
	if code, text, errOut := runCommand(t, environ, "user", "revoke", found[1]); code != exitOK { // only for admins
		t.Errorf("user revoke: got code %d, want 0\n%s%s", code, text, errOut)
	}
	return found[2]
}

// runningDemo is a demo that is ready.
type runningDemo struct {
	base, metrics, data string
	output              *output
	stop                func() // shuts the demo down gracefully
}

var demoAddresses = regexp.MustCompile(`(?s)(http://127\.0\.0\.1:\d+).*(http://127\.0\.0\.1:\d+/metrics)`)

// startDemo starts a demo in a new folder. The environment also names a Redis that the demo must not use.
func startDemo(t *testing.T, environ []string, args ...string) runningDemo {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out output
	ended, data := make(chan int, 1), filepath.Join(t.TempDir(), "data")
	if i := slices.Index(args, "--data"); i >= 0 {
		data = args[i+1]
	}
	args = append([]string{"demo", "--listen", kit.FreeAddress(t), "--data", data}, args...)
	environ = append(environ, "STAMPEDE_REDIS_URL=redis://127.0.0.1:1")
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
	return runningDemo{base: found[1], metrics: found[2], data: data, output: &out, stop: stop}
}

// activity is the activity in the open slot.
type activity struct {
	held, sold, watching int64
	rate                 float64 // orders settled per second
	sales                []shop.ID
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
		now.sold, now.sales = now.sold+sale.Sold, append(now.sales, sale.ID)
	}
	return open, now, err
}

// addStates adds the states of the orders in the sales. It calls the server with the operator's environment.
func addStates(t *testing.T, environ []string, sales []shop.ID, states map[shop.OrderState]bool) error {
	t.Helper()
	for _, sale := range sales {
		code, text, errOut := runCommand(t, environ, "report", sale.String(), "--json")
		if code != exitOK {
			return fmt.Errorf("report of sale %s: got code %d\n%s%s", sale, code, text, errOut)
		}
		var report backoffice.SaleReport
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			return fmt.Errorf("report of sale %s: %w\n%s", sale, err, text)
		}
		for _, s := range report.States {
			states[s.State] = true
		}
	}
	return nil
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
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: status %d: %s", url, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}
