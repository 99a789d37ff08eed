package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// TestMain discards the log, because the tests force many faults.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	kit.Main(m)
}

const testEpoch = 7

// testTimeout is how long a test waits for a required event, even on a busy machine.
const testTimeout = time.Minute

// onBoth runs the test in parallel on real Redis and on the embedded one: both must give the same results.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, onRedis(t))
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, newFixture(t, "redis://"+miniredis.RunT(t).Addr()))
	})
}

// fixture is an inventory on its own database, with two partitions open at testEpoch.
type fixture struct {
	t         testing.TB
	ctx       context.Context
	url       string
	client    *redis.Client
	inventory *Inventory
	stale     atomic.Int64
}

// always allows a trimmer to trim.
func always() bool { return true }

func onRedis(t testing.TB) *fixture { return newFixture(t, kit.Redis(t)) }

func newFixture(t testing.TB, url string) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: kit.Context(t), url: url, client: dial(t, url)}
	f.inventory = f.node(f.client)
	for p := range f.inventory.Partitions() {
		f.must(begin(f.ctx, f.inventory, p, testEpoch))
	}
	f.stale.Store(0)
	return f
}

func (f *fixture) stock() Stock       { return f.inventory.Stock() }
func (f *fixture) queue() Queue       { return f.inventory.Queue() }
func (f *fixture) recovery() Recovery { return f.inventory.Recovery() }

// node makes another inventory on the same data, like another process.
func (f *fixture) node(client *redis.Client) *Inventory {
	f.t.Helper()
	l, err := New(Options{Client: client, Namespace: f.url, Partitions: 2, OnStale: func(int) { f.stale.Add(1) }})
	f.must(err)
	for p := range l.Partitions() {
		l.SetEpoch(p, testEpoch)
	}
	return l
}

// database is the database history of a fixture's partitions.
var database = shop.DatabaseHistory{Server: "0a0b0c0d", Generation: 1, Beat: 5}

// begin opens a partition at an epoch with an empty stream, as a recovery does after a complete loss of Redis.
func begin(ctx context.Context, l *Inventory, partition int, epoch int64) error {
	r := shop.PartitionRecovery{Claim: epoch, Lost: true, Database: database}
	err := errors.Join(l.Recovery().Close(ctx, partition, r, ""), l.Recovery().Open(ctx, partition, r, 0, 0))
	l.SetEpoch(partition, epoch)
	return err
}

// close closes partition 1 for a recovery, with the current history.
func (f *fixture) close(claim int64, lost bool) {
	f.t.Helper()
	s, err := f.recovery().State(f.ctx, 1)
	f.must(err)
	h := database
	h.Generation = max(h.Generation, s.Database.Generation)
	f.must(f.recovery().Close(f.ctx, 1, shop.PartitionRecovery{Claim: claim, Lost: lost, Database: h}, s.History))
}

// open ends the recovery of partition 1 that has the claim.
func (f *fixture) open(claim, seq int64, lost bool) {
	f.t.Helper()
	f.must(f.recovery().Open(f.ctx, 1, shop.PartitionRecovery{Claim: claim, Lost: lost, Database: database}, seq, 0))
	f.inventory.SetEpoch(1, claim)
}

// confirm confirms the history of the partition, as a node does that has found nothing missing.
func (f *fixture) confirm(partition int) {
	f.t.Helper()
	s, err := f.recovery().State(f.ctx, partition)
	f.must(err)
	f.must(f.recovery().Confirm(f.ctx, partition, s))
}

// dial makes a client with the program's options. change may modify them.
func dial(t testing.TB, url string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	for _, c := range change {
		c(o)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) gate(l *Inventory) *Gate {
	g := NewGate(l)
	f.t.Cleanup(g.Close)
	return g
}

// awaitQueue waits until matches returns true for the queue of the sale, which is nil if the sale has no queue. missing
// describes the condition. The gate is locked while matches runs.
func awaitQueue(t testing.TB, g *Gate, sale shop.SaleRef, missing string, matches func(*saleQueue) bool) {
	t.Helper()
	kit.Eventually(t, testTimeout, func() (bool, string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return matches(g.queues[sale]), missing
	})
}

// isSending reports whether the queue has a running call and no waiting buys.
func isSending(q *saleQueue) bool { return q != nil && len(q.waiting) == 0 }

var lastID atomic.Int64

// newID returns ids of the size of snowflakes: Lua must never convert them to numbers.
func newID() shop.ID { return shop.ID(1_790_000_000_000_000_000 + lastID.Add(1)) }

// openSale creates and arms a sale that is open now. change may modify it before.
func (f *fixture) openSale(stock int64, change ...func(*shop.Sale)) *shop.Sale {
	f.t.Helper()
	now, err := f.inventory.Now(f.ctx)
	f.must(err)
	s := &shop.Sale{
		ID: newID(), Partition: 1, PriceFen: 4990, Initial: stock, Limit: 2, Cap: 5, Version: 3,
		OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
	}
	for _, c := range change {
		c(s)
	}
	f.must(f.stock().Create(f.ctx, testEpoch, shop.SaleState{Sale: s, Stock: stock}))
	f.must(f.stock().Arm(f.ctx, testEpoch, s.Ref()))
	return s
}

func buyOf(s *shop.Sale, user shop.ID, qty int, key string) shop.Buy {
	return shop.Buy{
		Order: newID(), User: user, Sale: s.Ref(), Qty: qty, Key: key, Hash: fmt.Sprintf("%016x", qty),
		Address: `{"name":"李雷"}`,
	}
}

// reserveOnce makes a buy and waits for its result, or until ctx ends.
func reserveOnce(ctx context.Context, g *Gate, b shop.Buy) (shop.GateResult, error) {
	until, limited := ctx.Deadline()
	if !limited {
		until = time.Now().Add(time.Hour)
	}
	return kit.Await(func(then func(shop.GateResult, error)) { g.Reserve(b, until, then) })
}

// reserveUntilKnown makes a buy until its outcome is known. On a busy machine a call may use up its budget. Then the
// same buy is repeated under the same order id: if the first try took the units, the gate returns Reserved with its
// ticket. An outcome that is unknown before the budget is used up is an error.
func reserveUntilKnown(ctx context.Context, g *Gate, b shop.Buy) (shop.GateResult, error) {
	for {
		began := time.Now()
		d, err := reserveOnce(ctx, g, b)
		if !errors.Is(err, shop.ErrTransient) || time.Since(began) < callBudget/2 || ctx.Err() != nil {
			return d, err
		}
	}
}

// wantUnknown makes a buy to which Redis does not reply. The gate must return ErrTransient long before the timeout of
// its caller.
func (f *fixture) wantUnknown(g *Gate, b shop.Buy) {
	f.t.Helper()
	began := time.Now()
	_, err := reserveOnce(f.ctx, g, b)
	if took := time.Since(began); !errors.Is(err, shop.ErrTransient) || took > 20*callBudget {
		f.t.Fatalf("Redis unreachable: got %v after %v, want ErrTransient within %v", err, took, 20*callBudget)
	}
}

func (f *fixture) reserve(g *Gate, b shop.Buy) shop.GateResult {
	f.t.Helper()
	d, err := reserveUntilKnown(f.ctx, g, b)
	f.must(err)
	return d
}

func (f *fixture) wantVerdict(g *Gate, b shop.Buy, want shop.Verdict) shop.GateResult {
	f.t.Helper()
	d := f.reserve(g, b)
	if d.Verdict != want {
		f.t.Fatalf("verdict %d, want %d (%+v)", d.Verdict, want, d)
	}
	return d
}

// audit reads the sale and checks the stock equation inside Redis (P1).
func (f *fixture) audit(s *shop.Sale) shop.SaleAudit {
	f.t.Helper()
	a, err := f.stock().Audit(f.ctx, s.Ref())
	f.must(err)
	if a.Initial+a.Added != a.Stock+a.Held+a.Sold+a.Withdrawn || a.Stock < 0 || a.Held < 0 {
		f.t.Fatalf("P1: stock equation broken: %+v", a.Counters)
	}
	var held int64
	for _, h := range a.Holds {
		held += int64(h.Qty)
	}
	if held != a.Held+a.Sold {
		f.t.Fatalf("P1: open holds add up to %d, held + sold is %d", held, a.Held+a.Sold)
	}
	return a
}
