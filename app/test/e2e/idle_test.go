//go:build abuse && linux

package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// A few addresses hold their maximum of 4000 sockets each and send nothing. Further connections of these addresses are
// rejected, and a shopper at another address buys. Each socket takes one descriptor of this process and one of the
// node. With a limit of 20,000 descriptors the test holds 16,000 sockets.
func TestIdleSocketsDoNotBlockOtherAddresses(t *testing.T) {
	const perAddress, atOnce = 4000, 64
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	addresses := int(min(5, (files.Max-2000)/perAddress))
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true")
	sale := s.open(10, 1)
	n := startShipped(t, s.settings...)
	w := route{addr: n.addr}
	hold := func(from string) error {
		conn, err := dialFrom(from).Dial("tcp", n.addr)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(waitTimeout))
		if _, err := conn.Write(append(wsclient.Handshake(n.addr), encodeOp("hello", 1)...)); err != nil {
			return err
		}
		res, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		if err == nil && res.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("handshake: %s", res.Status)
		}
		return err
	}
	began := time.Now()
	var all sync.WaitGroup
	var next atomic.Int64
	for range atOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < addresses*perAddress; i = int(next.Add(1)) - 1 {
				if err := hold(fmt.Sprintf("127.9.1.%d", 1+i%addresses)); err != nil {
					t.Errorf("socket %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d idle sockets of %d addresses after %v", addresses*perAddress, addresses, time.Since(began).Round(time.Second))
	for i := range addresses {
		if hold(fmt.Sprintf("127.9.1.%d", 1+i)) == nil {
			t.Errorf("address %d has more than %d sockets", i+1, perAddress)
		}
	}
	began = time.Now()
	s.must(w.newVisitor(t, "127.9.2.1").shop(kit.Context(t), sale.ID, "beside-idle-sockets"))
	t.Logf("a shopper entered and bought within %v", time.Since(began).Round(time.Millisecond))
}
