package limits

import (
	"context"
	_ "embed"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

//go:embed window.lua
var windowText string

var windowScript = redis.NewScript(windowText)

const (
	// countWithin is how long a request waits for its count; then the node counts by itself.
	countWithin = 250 * time.Millisecond
	// aloneFor is how long a node counts by itself after Redis has not answered: nobody waits for it in vain meanwhile.
	aloneFor = time.Second
)

// Class is a kind of requests that are counted together: at most so many in a window, of one user and of one address
// (0: no limit).
type Class struct {
	Name       string // in the key
	User, Addr int
}

// subject is who is counted, for what.
type subject struct {
	class string
	user  app.ID // 0: the address
	addr  netip.Addr
}

// key has a tag of its own: nothing is counted together with it in one step.
func (s *subject) key() string {
	if s.user != 0 {
		return "stampede:{w:u:" + s.user.String() + "}:" + s.class
	}
	return "stampede:{w:a:" + s.addr.String() + "}:" + s.class
}

// Windows are sliding windows that all nodes of a shop count together in Redis: one pipeline for a request, with one
// call of the same script for its user and one for its address. Whoever was refused is remembered until the next
// request counts, and asks Redis for nothing meanwhile. While Redis is away each node counts by itself, its share of
// the figures.
type Windows struct {
	redis  redis.UniversalClient
	length time.Duration
	now    func() int64

	refused *Table[subject] // who waits, until when
	alone   atomic.Int64    // until then the node counts by itself
	nodes   atomic.Int64    // that share the figures then
	own     *Table[subject] // what it counts then: one bucket for each, see aloneTake
	locally atomic.Int64    // how many requests were counted so
}

// NewWindows makes windows of one length.
func NewWindows(client redis.UniversalClient, length time.Duration) *Windows {
	w := &Windows{
		redis: client, length: length, now: sinceStart(),
		refused: NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
		own:     NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
	}
	w.nodes.Store(1)
	return w
}

// SetNodes says how many nodes share the figures while Redis is away.
func (w *Windows) SetNodes(nodes int) { w.nodes.Store(int64(max(1, nodes))) }

// CountedAlone is how many requests the node has counted without Redis.
func (w *Windows) CountedAlone() int64 { return w.locally.Load() }

// Take counts a request of the user (0: nobody knows who) from the address, or fails with RateLimited and the time
// until one would count. Who is refused, by either count, owes nothing.
func (w *Windows) Take(ctx context.Context, c Class, user app.ID, addr netip.Addr) error {
	who, most := w.subjects(c, user, app.CustomerAddr(addr))
	for i := range who {
		if wait := w.refused.Wait(who[i]); wait > 0 {
			return refusedOf(&who[i], wait)
		}
	}
	if len(who) == 0 {
		return nil
	}
	if w.now() < w.alone.Load() {
		return w.takeAlone(who, most)
	}
	waits, err := w.count(ctx, who, most, 1)
	if err != nil {
		w.alone.Store(w.now() + int64(aloneFor))
		return w.takeAlone(who, most)
	}
	return w.judge(ctx, who, most, waits)
}

// subjects are those that are counted, the user before the address, and what each may.
func (w *Windows) subjects(c Class, user app.ID, addr netip.Addr) (who []subject, most []int) {
	if user != 0 && c.User > 0 {
		who, most = append(who, subject{class: c.Name, user: user}), append(most, c.User)
	}
	if c.Addr > 0 {
		who, most = append(who, subject{class: c.Name, addr: addr}), append(most, c.Addr)
	}
	return who, most
}

// judge refuses if one of the counts does, and takes the other one back then.
func (w *Windows) judge(ctx context.Context, who []subject, most []int, waits []time.Duration) error {
	var failed error
	var counted []subject
	for i := range who {
		if waits[i] == 0 {
			counted = append(counted, who[i])
			continue
		}
		w.refused.Hold(who[i], waits[i])
		if failed == nil {
			failed = refusedOf(&who[i], waits[i])
		}
	}
	if failed != nil && len(counted) > 0 {
		// If this is lost, one request too many is counted, for one window.
		_, _ = w.count(ctx, counted, most, -1)
	}
	return failed
}

func refusedOf(s *subject, wait time.Duration) error {
	if s.user != 0 {
		return Refused("too many requests of yours", wait)
	}
	return Refused("too many requests from your address", wait)
}

// count asks Redis, in one pipeline; once more if it does not know the script yet.
func (w *Windows) count(ctx context.Context, who []subject, most []int, n int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	calls := make([]*redis.Cmd, len(who))
	ask := func() error {
		_, err := w.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range who {
				calls[i] = windowScript.EvalSha(ctx, p, []string{who[i].key()}, w.length.Milliseconds(), most[i], n)
			}
			return nil
		})
		return err
	}
	err := ask()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = windowScript.Load(ctx, w.redis).Err(); err == nil {
			err = ask()
		}
	}
	if err != nil {
		return nil, err
	}
	waits := make([]time.Duration, len(who))
	for i := range calls {
		ms, err := calls[i].Int64()
		if err != nil {
			return nil, err
		}
		waits[i] = time.Duration(ms) * time.Millisecond
	}
	return waits, nil
}

// takeAlone counts in the memory of this node, its share of each figure, as a bucket that fills within one window.
func (w *Windows) takeAlone(who []subject, most []int) error {
	w.locally.Add(1)
	nodes, now := int(w.nodes.Load()), w.now()
	for i := range who {
		pace := Pace{Rate: most[i], Period: w.length, Burst: most[i]}.Shared(nodes)
		if wait := w.own.takeBy(who[i], now, pace.steps()); wait > 0 {
			for j := range i {
				paid := Pace{Rate: most[j], Period: w.length, Burst: most[j]}.Shared(nodes)
				w.own.giveBackBy(who[j], paid.steps())
			}
			return refusedOf(&who[i], wait)
		}
	}
	return nil
}
