//go:build soak && linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

const (
	heldSockets   = 10_000
	heldAddresses = 10 // 127.0.1.1 and up, with a thousand sockets each
	heldFor       = time.Minute
	atOnce        = 64 // concurrent handshakes
)

// holder is a client behind nginx that only watches.
type holder struct {
	conn  *wsclient.Conn
	from  string
	stock atomic.Int64 // of the newest tick; -1: no tick received
}

// holders contains all holders and their shop.
type holders struct {
	s     *testShop
	node  *node // for operator commands
	route route
	sale  shop.Sale
	all   []*holder

	repeats atomic.Int64 // repeated handshakes
}

// Ten thousand clients hold sockets through the shipped nginx, in front of two nodes with the shipped limits. All of
// them see the stock change after a buy, and none loses its socket within a minute. Meanwhile buys and long polls
// succeed. The nodes see the address of each client: a block closes the sockets of one address and no other.
func TestNginxKeepsTenThousandSocketsOpen(t *testing.T) {
	s := newShop(t, nginxAddress, "STAMPEDE_PAY_WINDOW=1h")
	sale := s.open(100, 5)
	a, b := startShipped(t, s.settings...), startShipped(t, s.settings...)
	proxy := kit.StartNginxWorkers(t, 2, shippedSite, a.addr+","+b.addr)
	h := &holders{s: s, node: a, route: route{proxy.Addr, proxy.TLS}, sale: sale}
	proxyPIDs, nodes := proxy.Processes(t), []int{a.Cmd.Process.Pid, b.Cmd.Process.Pid}
	proxyMemory, nodeMemory := memoryOf(t, proxyPIDs), memoryOf(t, nodes)

	began := time.Now()
	h.connectAll()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		onA, onB := a.metric("stampede_live_clients"), b.metric("stampede_live_clients")
		return onA+onB == heldSockets && min(onA, onB) >= heldSockets/4, fmt.Sprintf("%v and %v sockets", onA, onB)
	})
	t.Logf("%d sockets from %d addresses were open after %.1f s; %v on one node, %v on the other; "+
		"%d handshakes were repeated", heldSockets, heldAddresses, time.Since(began).Seconds(), a.metric("stampede_live_clients"),
		b.metric("stampede_live_clients"), h.repeats.Load())
	for i, id := range proxyPIDs[1:] {
		t.Logf("worker %d of nginx has %d files open", i+1, filesOf(t, id))
	}

	end := time.Now().Add(heldFor)
	buyer := h.route.newVisitor(t, "127.0.0.40")
	buyerToken := token(t, kit.NewID())
	placed := h.buy(buyer, buyerToken, "first-press")
	h.awaitTick(99, "the first buy")
	polled := make(chan error, 1)
	go func() { polled <- longPoll(kit.Context(t), buyer, placed, buyerToken) }()
	h.requireOpenUntil(end)
	if err := <-polled; err != nil {
		t.Error(err)
	}
	h.buy(buyer, buyerToken, "second-press")
	h.awaitTick(98, "the buy a minute later")
	t.Logf("memory of a socket: %.1f KB in nginx, %.1f KB in a node",
		float64(memoryOf(t, proxyPIDs)-proxyMemory)/heldSockets, float64(memoryOf(t, nodes)-nodeMemory)/heldSockets)

	h.block("127.0.1.3")
	s.awaitDrained(sale)
	s.audit(sale)
}

// connectAll opens all sockets, at most atOnce at a time.
func (h *holders) connectAll() {
	h.s.t.Helper()
	h.all = make([]*holder, heldSockets)
	failed := make([]error, heldSockets)
	limit := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range h.all {
		h.all[i] = &holder{from: fmt.Sprintf("127.0.1.%d", 1+i%heldAddresses)}
		h.all[i].stock.Store(-1)
		text := token(h.s.t, kit.NewID())
		limit <- struct{}{}
		all.Go(func() {
			defer func() { <-limit }()
			failed[i] = h.openSocket(h.all[i], text)
		})
	}
	all.Wait()
	h.s.t.Cleanup(func() {
		for _, one := range h.all {
			if one.conn != nil {
				one.conn.Close()
			}
		}
	})
	if err := errors.Join(failed...); err != nil {
		h.s.t.Fatalf("%.2000s", err.Error())
	}
}

// openSocket opens a holder's socket, sends hello, and watches the sale.
func (h *holders) openSocket(one *holder, text string) error {
	dialer := wsclient.Dialer{
		Origin: h.route.page(), TLS: h.route.tls.Clone(), From: dialFrom(one.from).LocalAddr, OnFrame: h.received(one),
	}
	for {
		conn, err := dialer.Dial(context.Background(), h.route.page())
		var refused *wsclient.Refused
		if errors.As(err, &refused) {
			// Retry a busy handshake after the given pause, as the page does.
			a, _ := readResult(refused.Response)
			if a.failed.Code == shop.Busy && h.repeats.Add(1) < heldSockets {
				time.Sleep(time.Duration(a.failed.RetryMS) * time.Millisecond)
				continue
			}
			return fmt.Errorf("open a socket from %s: %d %s", one.from, a.code, a.text)
		}
		if err != nil {
			return fmt.Errorf("open a socket from %s: %w", one.from, err)
		}
		one.conn = conn
		break
	}
	if _, err := one.conn.Hello(text, ""); err != nil {
		return fmt.Errorf("hello from %s: %w", one.from, err)
	}
	if _, err := one.conn.Watch(0, h.sale.ID); err != nil {
		return fmt.Errorf("watch from %s: %w", one.from, err)
	}
	return nil
}

func (h *holders) received(one *holder) func(*wsclient.Frame) {
	return func(f *wsclient.Frame) {
		if tick, ok := f.Event.(*wsclient.TickEvent); ok {
			for _, line := range tick.Sales {
				if line.ID == h.sale.ID {
					one.stock.Store(line.Stock)
				}
			}
		}
	}
}

// buy buys one unit over HTTP and returns the order.
func (h *holders) buy(v *visitor, token, key string) shop.ID {
	h.s.t.Helper()
	path := "/api/v1/sales/" + h.sale.ID.String() + "/buy"
	a, err := v.requestWithBody(kit.Context(h.s.t), http.MethodPost, path, token, `{"qty":1,"key":"`+key+`"}`)
	var receipt order.Receipt
	if err != nil || a.code != http.StatusOK || json.Unmarshal([]byte(a.text), &receipt) != nil {
		h.s.t.Fatalf("a buy while the sockets are open: %v: %d %s", err, a.code, a.text)
	}
	return receipt.Order
}

// awaitTick waits until each holder has received a tick with that stock.
func (h *holders) awaitTick(stock int64, after string) {
	h.s.t.Helper()
	began := time.Now()
	kit.Eventually(h.s.t, waitTimeout, func() (bool, string) {
		h.requireClosedAtMost(0)
		missing := 0
		for _, one := range h.all {
			if one.stock.Load() != stock {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d of %d sockets received no tick with a stock of %d", missing, len(h.all), stock)
	})
	h.s.t.Logf("all %d sockets received the tick %.1f s after the reply to %s", len(h.all), time.Since(began).Seconds(),
		after)
}

// requireOpenUntil checks every second until the given time that no socket is closed.
func (h *holders) requireOpenUntil(end time.Time) {
	h.s.t.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for time.Now().Before(end) {
		<-ticker.C
		h.requireClosedAtMost(0)
	}
}

// requireClosedAtMost checks that at most the given number of sockets are closed. It returns their number per address.
func (h *holders) requireClosedAtMost(want int) map[string]int {
	h.s.t.Helper()
	closed, closedByAddr := 0, make(map[string]int)
	var lastErr error
	for _, one := range h.all {
		if err := one.conn.Err(); err != nil {
			closed, lastErr = closed+1, err
			closedByAddr[one.from]++
		}
	}
	if closed > want {
		h.s.t.Fatalf("%d of %d sockets were closed, want at most %d; the last one with %v", closed, len(h.all), want, lastErr)
	}
	return closedByAddr
}

// block blocks one address. The sockets of this address are closed, and no other sockets. Clients cannot choose an
// address by a header.
func (h *holders) block(address string) {
	t := h.s.t
	t.Helper()
	for _, header := range []string{"X-Forwarded-For", "X-Real-IP"} {
		if a := h.requestFrom("127.0.0.41", header, address); a.code != http.StatusOK {
			t.Errorf("another address: got %d %s, want 200", a.code, a.text)
		}
	}
	if out, code := h.node.run("block", "add", "--address", address, "--reason", "a test"); code != 0 {
		t.Fatalf("block add exits %d:\n%s", code, out)
	}
	each := heldSockets / heldAddresses
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		closedByAddr := h.requireClosedAtMost(each)
		n := closedByAddr[address]
		return n == each, fmt.Sprintf("%d of %d sockets of %s are closed", n, each, address)
	})
	for _, header := range []string{"X-Forwarded-For", "X-Real-IP"} {
		if a := h.requestFrom(address, header, "127.0.0.41"); a.code != http.StatusForbidden {
			t.Errorf("a blocked address with %s of another: got %d %s, want 403", header, a.code, a.text)
		}
		if a := h.requestFrom("127.0.0.41", header, address); a.code != http.StatusOK {
			t.Errorf("another address with %s of the blocked one: got %d %s, want 200", header, a.code, a.text)
		}
	}
	t.Logf("a block of %s closed its %d sockets and no others", address, each)
}

func (h *holders) requestFrom(from string, headers ...string) httpResult {
	h.s.t.Helper()
	a, err := h.route.newVisitor(h.s.t, from).request(kit.Context(h.s.t), http.MethodGet, "/api/v1/orders",
		token(h.s.t, kit.NewID()), headers...)
	h.s.must(err)
	return a
}

// longPoll requests an order that does not change, with the maximum wait of 30 s.
func longPoll(ctx context.Context, v *visitor, placed shop.ID, token string) error {
	began := time.Now()
	a, err := v.request(ctx, http.MethodGet, "/api/v1/orders/"+placed.String()+"?wait=30", token)
	if err != nil || a.code != http.StatusOK || time.Since(began) < 29*time.Second {
		return fmt.Errorf("a long poll while the sockets are open, after %v: %v: %d %s", time.Since(began), err, a.code, a.text)
	}
	return nil
}

// memoryOf returns the memory of the processes in KB. Memory that the processes share counts once.
func memoryOf(t *testing.T, ids []int) (kb int) {
	t.Helper()
	for _, id := range ids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
		found := regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB$`).FindSubmatch(text)
		if err != nil || found == nil {
			t.Fatalf("memory of process %d: %v:\n%s", id, err, text)
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		kb += n
	}
	return kb
}

func filesOf(t *testing.T, id int) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", id))
	if err != nil {
		t.Fatalf("files of process %d: %v", id, err)
	}
	return len(names)
}
