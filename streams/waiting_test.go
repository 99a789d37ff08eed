package streams

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/test/kit"
)

// heldLooks holds each look at what waits after Redis has answered it, until the test lets it go on.
type heldLooks struct {
	sent
	begun chan struct{}
	goOn  chan struct{}
}

func holdLooks(client *redis.Client) *heldLooks {
	h := &heldLooks{begun: make(chan struct{}, 100), goOn: make(chan struct{})}
	client.AddHook(h)
	return h
}

func (h *heldLooks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.note(cmds...)
		err := next(ctx, cmds)
		if cmds[0].Name() == "hkeys" {
			h.begun <- struct{}{}
			<-h.goOn
		}
		return err
	}
}

// P6, I11: whoever asks while a look is under way is answered by the next one: a look that began before may not know a
// reservation that was made since. However many ask meanwhile, one look serves all of them.
func TestOneLookForAllWhoAskMeanwhile(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s, g := f.openSale(100), f.gate(f.inventory)
	other := dial(t, f.url)
	l := f.node(other)
	looks := holdLooks(other)
	var asking sync.WaitGroup
	ask := func(user app.ID, want int) {
		asking.Go(func() {
			found, err := l.Waiting(f.ctx, user)
			if err != nil || len(found) != want {
				t.Errorf("user %s: %d reservations, want %d, %v", user, len(found), want, err)
			}
		})
	}
	ask(1, 0)
	<-looks.begun // it has read that nothing waits
	const crowd = 30
	for user := app.ID(11); user < 11+crowd; user++ {
		f.wantVerdict(g, buyOf(s, user, 1, "key-one-1"), app.VerdictReserved)
		ask(user, 1)
		ask(user+1000, 0)
	}
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		l.reads.mu.Lock()
		defer l.reads.mu.Unlock()
		return len(l.reads.asks) == 2*crowd, "not all have asked"
	})
	looks.take()
	close(looks.goOn)
	asking.Wait()
	commands := looks.take()
	if want := "hkeys hkeys hmget" + strings.Repeat(" xrange", crowd); commands != want {
		t.Fatalf("%d users were answered with %s, want %s", 2*crowd, commands, want)
	}
}

// An entry that cannot be read is the trouble of its user alone.
func TestWaitingTroublesOnlyWhoseItIs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 2)
		keys := f.inventory.parts[1].keys
		id,
			err := f.client.XAdd(f.ctx, &redis.XAddArgs{Stream: keys.orders, Values: []any{"terms", "9:unheard of"}}).Result()
		f.must(err)
		f.must(f.client.HSet(f.ctx, keys.buyers(s.ID), "77", "1|1|1:1:1:key;|"+id).Err())
		asks := []*waitingAsk{{user: 5000}, {user: 77}, {user: 5001}, {user: 5000}}
		f.inventory.lookForWaiting(asks)
		for i, want := range []int{1, 0, 1, 1} {
			if len(asks[i].found) != want || (asks[i].err != nil) != (want == 0) {
				t.Errorf("ask %d: %+v, %v", i, asks[i].found, asks[i].err)
			}
		}
	})
}

// BenchmarkHellos measures what a hello asks of Redis when many come back at once: each with a look of its own, as it
// was, and with looks that are shared, in turns in the same run; eight partitions, in each of which one sale has
// something waiting. It reports commands of Redis per hello and hellos per second.
func BenchmarkHellos(b *testing.B) {
	const partitions, crowd, hellos = 8, 256, 18_000
	f := newFixture(b, kit.StartRedis(b, kit.RedisOptions{}).URL)
	l, err := New(Options{
		Client: dial(b, f.url, func(o *redis.Options) { o.PoolSize = crowd }), Partitions: partitions,
	})
	f.must(err)
	for p := range partitions {
		sale := newID()
		f.must(f.client.HSet(f.ctx, l.parts[p].keys.waiting, sale.String(), 1).Err())
		f.must(f.client.HSet(f.ctx, l.parts[p].keys.buyers(sale), "1", "1|1|1:1:1:key;|1-1").Err())
	}
	rush := func(hello func(user app.ID) error) (perSecond float64) {
		var wg sync.WaitGroup
		next := make(chan app.ID, hellos)
		for user := range app.ID(hellos) {
			next <- user + 2
		}
		close(next)
		began := time.Now()
		for range crowd {
			wg.Go(func() {
				for user := range next {
					if err := hello(user); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return hellos / time.Since(began).Seconds()
	}
	var alone, shared, aloneCalls, sharedCalls, rounds float64
	for ; b.Loop(); rounds++ {
		f.calls()
		alone += rush(func(user app.ID) error {
			ask := &waitingAsk{user: user}
			l.lookForWaiting([]*waitingAsk{ask})
			return ask.err
		})
		aloneCalls += f.calls()
		shared += rush(func(user app.ID) error { _, err := l.Waiting(context.Background(), user); return err })
		sharedCalls += f.calls()
	}
	b.ReportMetric(alone/rounds, "alone/s")
	b.ReportMetric(shared/rounds, "shared/s")
	b.ReportMetric(aloneCalls/rounds/hellos, "alone-commands/hello")
	b.ReportMetric(sharedCalls/rounds/hellos, "shared-commands/hello")
	b.ReportMetric(0, "ns/op")
}
