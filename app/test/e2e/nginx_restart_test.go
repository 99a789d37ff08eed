package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

var allRestarts = flag.Bool("all-restarts", false, "restart nodes behind nginx with all pauses, not only the shortest")

// A rolling restart behind the shipped nginx: each of two nodes is away for six seconds. Six seconds after a node is
// ready, all clients have a socket again, however soon the second node stops, and with other requests or without.
func TestSocketsReturnAfterRollingRestartBehindNginx(t *testing.T) {
	t.Parallel()
	pauses := []time.Duration{time.Second}
	if *allRestarts {
		pauses = append(pauses, 8*time.Second, 30*time.Second)
	}
	for _, between := range pauses {
		for name, requests := range map[string]bool{"only sockets": false, "sockets and requests": true} {
			t.Run(fmt.Sprintf("%s, %v", name, between), func(t *testing.T) {
				t.Parallel()
				restartBehindNginx(t, between, requests)
			})
		}
	}
}

// restartBehindNginx restarts two nodes that serve many sockets. The second node stops a time between after the first
// one is ready.
func restartBehindNginx(t *testing.T, between time.Duration, requests bool) {
	const (
		sockets = 150
		away    = 6 * time.Second
		allBack = 6 * time.Second
	)
	s := newShop(t, nginxAddress)
	s.open(10, 1)
	a, b := s.start(), s.start()
	proxy := kit.StartNginx(t, shippedSite, a.addr+","+b.addr)
	w := route{proxy.Addr, proxy.TLS}
	ctx, leave := context.WithCancel(kit.Context(t))
	var open, rejected atomic.Int64
	var all sync.WaitGroup
	defer func() { leave(); all.Wait() }() // before the nodes end
	for i := range sockets {
		all.Go(func() {
			w.newVisitor(t, fmt.Sprintf("127.0.0.%d", 50+i%10)).stayConnected(ctx, &open, &rejected)
		})
	}
	if requests {
		all.Go(func() { w.newVisitor(t, "127.0.0.60").keepRequesting(ctx) })
	}
	returned := func() (bool, string) {
		return open.Load() == sockets, fmt.Sprintf("%d of %d sockets are open, %d handshakes failed", open.Load(), sockets,
			rejected.Load())
	}
	kit.Eventually(t, waitTimeout, returned)

	restart := func(n *node) {
		if code := n.stop(); code != 0 {
			t.Errorf("the node exited with %d", code)
		}
		time.Sleep(away)
		again := launch(t, append(s.settings, "STAMPEDE_LISTEN="+n.addr)...)
		again.AwaitReady(t, waitTimeout, n.addr)
		kit.Eventually(t, allBack, returned)
	}
	restart(a)
	time.Sleep(between)
	restart(b)
	if n := strings.Count(proxy.Log(t), "no live upstreams"); n > 0 {
		t.Errorf("nginx rejected %d requests because all nodes counted as failed", n)
	}
	t.Logf("%d handshakes failed", rejected.Load())
}

// keepRequesting sends five requests a second until ctx ends. One node always runs, so all of them must succeed.
func (v *visitor) keepRequesting(ctx context.Context) {
	const pauseMS = 200
	for sleep(ctx, pauseMS) == nil {
		response, err := v.request(ctx, http.MethodGet, "/api/v1/time", "")
		if ctx.Err() == nil && (err != nil || response.code != http.StatusOK) {
			v.t.Errorf("a request during the restart: %v, %d %s", err, response.code, response.text)
		}
	}
}

// stayConnected keeps one socket open until ctx ends, with the pauses of the page: the time of a bye, or pauses that
// double up to 15 s. It counts open sockets and failed handshakes.
func (v *visitor) stayConnected(ctx context.Context, open, failed *atomic.Int64) {
	const firstPause, maxPause = 400 * time.Millisecond, 15 * time.Second
	for pause := firstPause; ctx.Err() == nil; {
		bye := make(chan time.Duration, 1)
		dialer := wsclient.Dialer{
			Origin: v.page(), TLS: v.tls.Clone(), From: dialFrom(v.from).LocalAddr, OnFrame: func(f *wsclient.Frame) {
				if e, ok := f.Event.(*wsclient.ByeEvent); ok {
					bye <- time.Duration(e.RetryMS) * time.Millisecond
				}
			},
		}
		conn, err := dialer.Dial(ctx, v.page())
		if err == nil {
			_, err = conn.Hello("", "")
		}
		if err == nil {
			pause = firstPause
			open.Add(1)
			select {
			case <-conn.Done():
			case <-ctx.Done():
			}
			open.Add(-1)
		} else {
			failed.Add(1)
		}
		if conn != nil {
			conn.Close()
		}
		wait := pause/2 + rand.N(pause/2)
		select {
		case wait = <-bye:
		default:
			pause = min(2*pause, maxPause)
		}
		_ = sleep(ctx, wait.Milliseconds())
	}
}
