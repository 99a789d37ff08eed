package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// A rolling restart behind the shipped nginx: each of two nodes is away for six seconds, and the second one stops two
// seconds after the first one is ready. Six seconds after the second node is ready, all clients have a socket again.
func TestSocketsReturnAfterRollingRestartBehindNginx(t *testing.T) {
	t.Parallel()
	const (
		sockets = 100
		away    = 6 * time.Second
		between = 2 * time.Second
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
	t.Cleanup(func() { leave(); all.Wait() })
	for i := range sockets {
		all.Go(func() {
			w.newVisitor(t, fmt.Sprintf("127.0.0.%d", 50+i%10)).stayConnected(ctx, &open, &rejected)
		})
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
	}
	restart(a)
	time.Sleep(between)
	restart(b)
	kit.Eventually(t, allBack, returned)
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
