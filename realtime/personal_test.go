package realtime

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/apptest"
)

// told lists the (order, rev) of the order events a peer has heard, in order.
func (p *peer) told() []string {
	var list []string
	for _, h := range p.all("order") {
		list = append(list, fmt.Sprintf("%s/%d", h.Order.ID, h.Order.Rev))
	}
	return list
}

// "Two devices of one user on two nodes hear everything", and nobody else does.
func TestAllDevicesOnAllNodesHear(t *testing.T) {
	t.Parallel()
	one, two := startPair(t)
	phone, tablet, page, other := one.dial(t), one.dial(t), two.dial(t), two.dial(t)
	for _, p := range []*peer{phone, tablet, page} {
		p.hello(7, "")
	}
	other.hello(8, "")
	one.awaitEar()
	two.awaitEar()
	one.log.mustTell(t, event(7, 100, 1), event(7, 101, 1))
	two.log.mustTell(t, event(7, 100, 2))
	for _, p := range []*peer{phone, tablet, page} {
		p.awaitEvents("order", 3)
		if diff := cmp.Diff([]string{"100/1", "101/1", "100/2"}, p.told()); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	}
	other.fence()
	if got := other.told(); len(got) != 0 {
		t.Errorf("another user heard %v", got)
	}
}

// P6: "a client that reconnects misses no personal event".
func TestReconnectWithCursorMissesNothing(t *testing.T) {
	t.Parallel()
	one, two := startPair(t)
	p := one.dial(t)
	p.hello(7, "")
	one.awaitEar()
	one.log.mustTell(t, event(7, 100, 1))
	cursor := p.awaitEvents("order", 1)[0].Cursor
	p.conn.Close()
	one.awaitClients(0)
	one.log.mustTell(t, event(7, 100, 2), event(7, 101, 1))

	again := two.dial(t)
	ok := again.hello(7, cursor)
	if ok.Reset || len(ok.Missed) != 2 || ok.Missed[0].Ev != "order" || ok.Missed[0].Order.Rev != 2 || ok.Missed[1].Order.ID != 101 {
		t.Fatalf("hello answered %+v", ok)
	}
	if ok.Cursor != ok.Missed[1].Cursor {
		t.Errorf("cursor %s after the last missed event %s", ok.Cursor, ok.Missed[1].Cursor)
	}
	two.awaitEar()
	two.log.mustTell(t, event(7, 101, 2))
	again.awaitEvents("order", 1)
	if diff := cmp.Diff([]string{"101/2"}, again.told()); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// P6: "… or is told so".
func TestReconnectBeyondTheLogIsReset(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, cursor := range []string{"1795222790123-42", "not a cursor"} {
		if ok := n.dial(t).hello(7, cursor); !ok.Reset || len(ok.Missed) != 0 || ok.Cursor == "" || ok.Cursor == cursor {
			t.Errorf("hello with %s answered %+v", cursor, ok)
		}
	}
}

// Events told while hello is being answered come after the answer, each once.
func TestEventsDuringHelloAreNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitEar()
	n.shop.set(func(s *fakeShop) {
		s.greet = func(user app.ID) ([]app.Reservation, error) {
			n.log.mustTell(t, event(user, 100, 1), event(user, 101, 1)) // after the log was read
			return []app.Reservation{{Order: 100, Sale: 11, State: app.Reserved}}, nil
		}
	})
	p := n.dial(t)
	if ok := p.hello(7, ""); len(ok.Missed) != 0 || len(ok.Reservations) != 1 {
		t.Fatalf("hello answered %+v", ok)
	}
	n.log.mustTell(t, event(7, 102, 1))
	p.awaitEvents("order", 3)
	p.fence()
	if diff := cmp.Diff([]string{"100/1", "101/1", "102/1"}, p.told()); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// PubSub is only a hint: when it is cut, the log is read after it is back.
func TestCutSubscriptionLosesNothing(t *testing.T) {
	t.Parallel()
	url := apptest.Redis(t)
	n := startNodeOn(t, url)
	p := n.dial(t)
	p.hello(7, "")
	n.awaitEar()
	direct := testLog(t, url)
	before := testutil.ToFloat64(n.hub.metrics.resyncs)
	for round := range 3 {
		cutSubscriptions(t, direct)
		direct.mustTell(t, event(7, app.ID(100+round), 1))
		p.awaitEvents("order", round+1)
	}
	if after := testutil.ToFloat64(n.hub.metrics.resyncs); after <= before {
		t.Error("the subscription was not cut")
	}
	if diff := cmp.Diff([]string{"100/1", "101/1", "102/1"}, p.told()); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// cutSubscriptions ends the connections that are subscribed to this log's channels. The server is shared with other
// tests, so they are found by the channel count of this log alone: only ours have this name.
func cutSubscriptions(t *testing.T, l *Log) {
	t.Helper()
	list, err := l.redis.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	db := fmt.Sprintf(" db=%d ", l.database(t))
	for line := range strings.Lines(list) {
		if !strings.Contains(line, db) || !strings.Contains(line, fmt.Sprintf(" sub=%d ", logShards+1)) {
			continue
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if err := l.redis.ClientKillByFilter(t.Context(), "ID", id).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// database is the number of the logical database that the log is in.
func (l *Log) database(t *testing.T) int {
	t.Helper()
	type withOptions interface{ Options() *redis.Options }
	return l.redis.(withOptions).Options().DB
}

// A hint that is lost without a broken connection is found by looking at the logs from time to time.
func TestLostHintIsFoundByLooking(t *testing.T) {
	t.Parallel()
	url := apptest.Redis(t)
	n := startNodeOn(t, url, func(o *Options) {
		o.KeepEvery, o.SyncEvery = 5*time.Millisecond, 20*time.Millisecond
	})
	p := n.dial(t)
	p.hello(7, "")
	deaf := NewLog(n.log.redis, "another namespace") // its hints go elsewhere
	deaf.mustTell(t, event(7, 100, 1))
	p.awaitEvents("order", 1)
}

// A gap in the hints is filled from the log, in order.
func TestGapInHintsIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.dial(t)
	p.hello(7, "")
	n.awaitEar()
	NewLog(n.log.redis, "another namespace").mustTell(t, event(7, 100, 1), event(7, 101, 1))
	n.log.mustTell(t, event(7, 102, 1))
	p.awaitEvents("order", 3)
	p.fence()
	if diff := cmp.Diff([]string{"100/1", "101/1", "102/1"}, p.told()); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// A log that breaks off under a connected client sends it to hello, where it is told of the reset.
func TestLostLogSendsConnectedClientsToHello(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.dial(t)
	p.hello(7, "")
	n.awaitEar()
	n.log.mustTell(t, event(7, 100, 1))
	cursor := p.awaitEvents("order", 1)[0].Cursor
	if err := n.log.redis.Del(t.Context(), logKey(7)).Err(); err != nil {
		t.Fatal(err)
	}
	n.log.mustTell(t, event(7, 101, 1))
	p.awaitClose(CloseResync)
	if ok := n.dial(t).hello(7, cursor); !ok.Reset {
		t.Errorf("hello answered %+v, want a reset", ok)
	}
}

func TestHelloIsBusyWhileTheLogCannotBeRead(t *testing.T) {
	t.Parallel()
	server := apptest.StartRedis(t, apptest.RedisOptions{})
	n := startNodeOn(t, server.URL)
	n.awaitEar()
	server.Kill()
	p := n.dial(t)
	if r := p.do(`"op":"hello","token":"user:7"`); r.Error == nil || r.Error.Code != app.Busy || r.Error.RetryMS == 0 {
		t.Fatalf("got %+v, want busy", r)
	}
	server.Start()
	apptest.Eventually(t, patience, func() (bool, string) {
		r := p.do(`"op":"hello","token":"user:7"`)
		return r.Error == nil, "still refused"
	})
}

// What the server takes to answer a hello is not the peer's time, and who is told to wait has the whole time anew.
func TestSlowAnswersLeaveThePeerItsTimeForHello(t *testing.T) {
	t.Parallel()
	const within = 3 * time.Second
	for name, fault := range map[string]error{"busy": app.FailBusy("later", time.Millisecond), "internal": errors.New("broken")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, func(o *Options) { o.HelloWithin = within })
			n.shop.set(func(s *fakeShop) {
				s.greet = func(app.ID) ([]app.Reservation, error) {
					<-time.After(within + within/10)
					return nil, fault
				}
			})
			p := n.dial(t)
			if r := p.do(`"op":"hello","token":"user:7"`); r.Error == nil {
				t.Fatalf("got %+v, want %v", r, fault)
			}
			n.shop.set(func(s *fakeShop) { s.greet = nil })
			p.hello(7, "")
		})
	}
}

func TestEndedTokenMayDoNothingAndIsSentAwayAfterAGrace(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.KeepEvery = 5 * time.Millisecond })
	p, renewing := n.dial(t), n.dial(t)
	until := n.shop.Now().Add(time.Hour)
	hello := fmt.Sprintf(`"op":"hello","token":"until:%d:7"`, until)
	p.must(hello, nil)
	renewing.must(hello, nil)

	n.shop.set(func(s *fakeShop) { s.ahead = time.Hour + time.Second })
	if r := p.do(buying(`1`)); r.Error == nil || r.Error.Code != app.Unauthorized {
		t.Fatalf("buy with an ended token: %+v", r)
	}
	p.fence() // within the grace the socket stays
	var ok renewed
	renewing.must(`"op":"renew","token":"user:7"`, &ok)
	if ok.Expires <= until {
		t.Errorf("renewed until %d, was %d", ok.Expires, until)
	}
	renewing.must(buying(`1`), nil)

	n.shop.set(func(s *fakeShop) { s.ahead += time.Minute })
	p.awaitClose(CloseToken)
	renewing.must(buying(`1`), nil)
}
