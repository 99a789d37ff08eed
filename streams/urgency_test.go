package streams

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/apptest"
)

// An urgent connection reads what any connection reads, and ends like one.
func TestUrgentConnectionReadsAsAnyOther(t *testing.T) {
	t.Parallel()
	var u Urgency
	u.add(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := u.Dialer(new(net.Dialer).DialContext)(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, ok := conn.(*urgentConn); !ok {
		t.Fatalf("a %T", conn)
	}
	peer, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()

	into := make([]byte, 3)
	read := func() string {
		t.Helper()
		if _, err := io.ReadFull(conn, into); err != nil {
			t.Fatal(err)
		}
		return string(into)
	}
	say := func(what string) {
		if _, err := io.WriteString(peer, what); err != nil {
			t.Error(err)
		}
	}
	say("onetwo")
	if got := read() + read(); got != "onetwo" {
		t.Fatalf("read %q", got)
	}
	time.AfterFunc(5*time.Millisecond, func() { say("new") })
	if got := read(); got != "new" {
		t.Fatalf("waited for %q", got)
	}
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(into); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("past its deadline: %v", err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	if _, err := conn.Read(into); !errors.Is(err, io.EOF) {
		t.Fatalf("after the other side hung up: %v", err)
	}
}

// A queue is urgent exactly while a whole group waits behind its call, however that ends, and nobody is lost on the way (P2).
func TestUrgencyFollowsTheQueue(t *testing.T) {
	t.Parallel()
	const crowd = 3*maxGroup + 5
	f := onRedis(t)
	s := f.openSale(10 * crowd)
	proxy := apptest.NewProxy(t, f.url)
	var u Urgency
	client := dial(t, proxy.URL, func(o *redis.Options) { o.Dialer = u.Dialer(redis.NewDialer(o)) })
	g := NewGate(f.node(client))
	g.Urgency = &u
	f.wantVerdict(g, buyOf(s, 10, 1, "key-zero1"), app.VerdictReserved)

	var waits sync.WaitGroup
	press := func(first, n int, want func(app.Decision, error) bool) {
		for i := range n {
			waits.Add(1)
			g.Reserve(buyOf(s, app.ID(first+i), 1, "key-one-1"), time.Now().Add(time.Minute), func(d app.Decision, err error) {
				defer waits.Done()
				if !want(d, err) {
					t.Errorf("user %d: %+v, %v", first+i, d, err)
				}
			})
		}
	}
	wantUrgent := func(lanes int32) {
		t.Helper()
		apptest.Eventually(t, 5*time.Second, func() (bool, string) {
			return u.lanes.Load() == lanes, "urgent lanes are not as many as there should be"
		})
	}
	reserved := func(d app.Decision, err error) bool { return err == nil && d.Verdict == app.VerdictReserved }

	proxy.Stall()
	press(100, 1, func(app.Decision, error) bool { return true }) // decided, or told that nobody knows
	awaitQueue(t, g, s.Ref(), "no call is under way", underWay)
	press(1000, maxGroup-1, reserved)
	if n := u.lanes.Load(); n != 0 {
		t.Fatalf("%d lanes are urgent with less than a group waiting", n)
	}
	press(3000, crowd, reserved)
	wantUrgent(1)
	proxy.Restore()
	waits.Wait()
	wantUrgent(0)

	proxy.Stall()
	defer proxy.Restore()
	press(6000, 1, func(app.Decision, error) bool { return true })
	awaitQueue(t, g, s.Ref(), "no call is under way", underWay)
	press(7000, maxGroup, func(_ app.Decision, err error) bool { return errors.Is(err, errGateClosed) })
	wantUrgent(1)
	g.Close()
	waits.Wait()
	wantUrgent(0)
}
