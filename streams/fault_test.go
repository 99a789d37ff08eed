package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// faultyServer is a server that returns TIME from its own clock, and one error to every other command.
type faultyServer struct {
	t     *testing.T
	name  string
	addr  string
	error string
	ahead time.Duration
	slots string // the reply to CLUSTER SLOTS

	mu    sync.Mutex
	calls [][]string // script calls
}

func newFaultyServer(t *testing.T, reply string) *faultyServer {
	t.Helper()
	listening, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listening.Close)
	s := &faultyServer{t: t, addr: listening.Addr().String(), error: reply}
	s.slots = slotsOf(s)
	listening.SetPreHook(s.reply)
	return s
}

// slotsOf returns the CLUSTER SLOTS reply for servers with equal ranges.
func slotsOf(servers ...*faultyServer) string {
	text := fmt.Sprintf("*%d\r\n", len(servers))
	for i, s := range servers {
		host, port, _ := strings.Cut(s.addr, ":")
		from, to := i*clusterSlots/len(servers), (i+1)*clusterSlots/len(servers)-1
		text += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$1\r\n%d\r\n", from, to, len(host), host,
			port, i)
	}
	return text
}

func (s *faultyServer) reply(peer *server.Peer, command string, args ...string) bool {
	switch command {
	case "HELLO", "COMMAND":
		peer.WriteError("ERR unknown command")
	case "CLIENT", "ASKING":
		peer.WriteOK()
	case "CLUSTER":
		peer.WriteRaw(s.slots)
	case "TIME":
		now := time.Now().Add(s.ahead)
		peer.WriteStrings([]string{strconv.FormatInt(now.Unix(), 10), strconv.Itoa(now.Nanosecond() / 1000)})
	case "EVALSHA":
		s.mu.Lock()
		s.calls = append(s.calls, args)
		s.mu.Unlock()
		fallthrough
	default:
		peer.WriteError(s.error)
	}
	return true
}

func (s *faultyServer) cluster() *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{s.addr}, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// I6: errors of a server that is loading, is a replica, has moved a slot or lacks replicas are transient. They are
// never reported as lost data, an invalid order or a wrong setting. A buy is repeated with the same arguments, then its
// outcome is unknown.
func TestServerFaultsAreTransient(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	var all sync.WaitGroup // the servers mostly wait, so they run in parallel
	defer all.Wait()
	for _, text := range []string{
		"MOVED 1 %s", "ASK 1 %s", "TRYAGAIN Multiple keys request during rehashing of slot", // words:ok
		"CLUSTERDOWN Hash slot not served", "CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOREPLICAS Not enough good replicas to write.", "UNBLOCKED the stream key no longer exists",
	} {
		for _, kind := range []string{"one server", "cluster"} {
			s := newFaultyServer(t, "")
			s.name, s.error = kind+" "+text, strings.ReplaceAll(text, "%s", s.addr)
			var client redis.UniversalClient = s.cluster()
			if kind == "one server" {
				client = dial(t, "redis://"+s.addr)
			}
			all.Go(func() { s.checkTransient(ctx, client) })
		}
	}
}

func (s *faultyServer) checkTransient(ctx context.Context, client redis.UniversalClient) {
	s.t.Helper()
	stale := false
	l, err := New(Options{Client: client, Partitions: 2, OnStale: func(int) { stale = true }})
	if err != nil {
		s.t.Error(err)
		return
	}
	l.SetEpoch(1, testEpoch)
	sale := shop.SaleRef{ID: 7, Partition: 1}
	worker := NewConsumer(l, 1, "worker", newFakeHandler(), ConsumerOptions{Block: time.Millisecond})
	for what, do := range map[string]func() error{
		"counters": func() error { _, err := l.Stock().Counters(ctx, []shop.SaleRef{sale}); return err },
		"state":    func() error { _, err := l.Recovery().State(ctx, 1); return err },
		"missing": func() error {
			_, err := l.Recovery().Missing(ctx, 1, testEpoch, []shop.LastOrder{{Sale: sale, User: 1, Order: 2}})
			return err
		},
		"delivery":  func() error { _, err := l.Queue().Delivery(ctx, 1); return err },
		"buyers":    func() error { _, err := l.Stock().Buyers(ctx, sale, shop.BuyersMark{}); return err },
		"waiting":   func() error { _, err := l.Queue().Waiting(ctx, 1); return err },
		"finish":    func() error { return l.Queue().Finish(ctx, 1, 1, nil, []*shop.Entry{{StreamID: "1-1", Sale: 7}}) },
		"publish":   func() error { return l.Sequences().Publish(ctx, 1, 1, []*shop.Order{{ID: 2}}) },
		"return":    func() error { _, err := l.Stock().Return(ctx, []shop.Return{{Sale: sale, Order: 2}}); return err },
		"schedule":  func() error { return l.Queue().Schedule(ctx, 1, []shop.Deadline{{Order: 2, PayBy: 3}}) },
		"stats":     func() error { _, err := l.Queue().Stats(ctx); return err },
		"sequences": func() error { _, err := l.Sequences().SequenceEnds(ctx); return err },
		"consume":   func() error { return worker.runOnce(ctx) },
		"sweep":     func() error { _, err := NewSweeper(l, 1, newDeadlineRecorder()).runOnce(ctx); return err },
	} {
		s.wantTransient(what, do())
	}
	if stale {
		s.t.Errorf("%s: a partition was mistaken for another one", s.name)
	}
	s.checkSameBuy(ctx, l, sale)
}

func (s *faultyServer) wantTransient(what string, err error) {
	s.t.Helper()
	if !errors.Is(err, shop.ErrTransient) {
		s.t.Errorf("%s: %s: %v, want ErrTransient", s.name, what, err)
	}
	for _, other := range []error{shop.ErrMisconfigured, shop.ErrPermanent, shop.ErrLost, shop.ErrStaleEpoch} {
		if errors.Is(err, other) {
			s.t.Errorf("%s: %s: got %v: %v, want another class", s.name, what, other, err)
		}
	}
}

// checkSameBuy checks that all tries of a buy are identical.
func (s *faultyServer) checkSameBuy(ctx context.Context, l *Inventory, sale shop.SaleRef) {
	s.t.Helper()
	g := NewGate(l)
	defer g.Close()
	buy := func() (tries int, took time.Duration) {
		s.mu.Lock()
		s.calls = nil
		s.mu.Unlock()
		began := time.Now()
		_, err := reserveOnce(ctx, g, shop.Buy{Order: 11, User: 12, Sale: sale, Qty: 1, Key: "key-same-1", Hash: "h"})
		s.wantTransient("buy", err)
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.calls), time.Since(began)
	}
	tries, took := buy()
	for tries < 2 && took >= callBudget/2 && ctx.Err() == nil { // one slow try used up the budget
		tries, took = buy()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if !slices.Equal(call, s.calls[0]) {
			s.t.Errorf("%s: got the first call %v and a later call %v, want equal calls", s.name, s.calls[0], call)
		}
	}
	if len(s.calls) < 2 {
		s.t.Errorf("%s: got %d attempts, want at least 2", s.name, len(s.calls))
	}
}

// I10: the difference between the clocks of primaries is detected, and Now returns the earliest of them.
func TestClockDifferenceOfPrimariesIsDetected(t *testing.T) {
	t.Parallel()
	correct, ahead := newFaultyServer(t, "ERR"), newFaultyServer(t, "ERR")
	ahead.ahead = time.Hour // far more than the round trips of a busy machine
	correct.slots = slotsOf(correct, ahead)
	ahead.slots = correct.slots
	client := correct.cluster()
	ctx := kit.Context(t)
	difference, err := ClockDifference(ctx, client)
	if err != nil || (difference-time.Hour).Abs() > time.Minute {
		t.Errorf("the clocks differ by %s, %v, want about 1h", difference, err)
	}
	l, err := New(Options{Client: client, Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	now, err := l.Now(ctx)
	if off := time.Until(now.Time()); err != nil || off.Abs() > time.Minute {
		t.Errorf("Now differs from the earlier clock by %s, %v, want at most 1m", off, err)
	}
}
