package limits

import (
	"context"
	_ "embed"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

//go:embed window.lua
var windowText string

var windowScript = redis.NewScript(windowText)

const (
	countWithin = 250 * time.Millisecond // limit for a count in Redis; then the node counts alone
	aloneFor    = time.Second            // how long it counts alone before it tries Redis again
)

// Window is the limit of requests of a class per window, for a user and for an address (0: no limit).
type Window struct{ User, Addr int }

// subject is a user or a network (shop.Networks), for a class.
type subject struct {
	class Class
	user  shop.ID // 0: the network
	net   netip.Prefix
}

// Each key has its own hash tag: no script uses two keys.
func (s *subject) key() string {
	if s.user != 0 {
		return "stampede:{w:u:" + s.user.String() + "}:" + string(s.class)
	}
	return "stampede:{w:a:" + s.net.String() + "}:" + string(s.class)
}

// Windows are sliding windows that all nodes of a shop count together in Redis, in one pipeline per request. A rejected
// caller is remembered and costs Redis nothing until its next request is accepted. While Redis (in a cluster: the
// server of a count) is unavailable, each node counts its share of the limits alone.
type Windows struct {
	redis  redis.UniversalClient
	length time.Duration
	now    func() int64

	refused *Table[subject] // until when rejected subjects wait
	nodes   atomic.Int64    // nodes that share the limits without Redis
	own     *Table[subject] // this node's own counts, see share
	locally atomic.Int64    // requests counted by this node alone

	mu    sync.Mutex
	alone map[string]int64 // server → until when the node counts its subjects alone
}

// NewWindows returns windows of one length.
func NewWindows(client redis.UniversalClient, length time.Duration) *Windows {
	w := &Windows{
		redis: client, length: length, now: sinceStart(), alone: make(map[string]int64),
		refused: NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
		own:     NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
	}
	w.nodes.Store(1)
	return w
}

// SetNodes sets how many nodes share the limits while Redis is away.
func (w *Windows) SetNodes(nodes int) { w.nodes.Store(int64(max(1, nodes))) }

// CountedAlone returns how many requests the node has counted without Redis.
func (w *Windows) CountedAlone() int64 { return w.locally.Load() }

// Take counts a request of the user (0: unknown) from the address, or fails with RateLimited and the time until one is
// accepted. A rejected request is not counted.
func (w *Windows) Take(ctx context.Context, c Class, limit Window, user shop.ID, addr netip.Addr) error {
	who, most := subjects(c, limit, user, addr)
	for i := range who {
		if wait := w.refused.Wait(who[i]); wait > 0 {
			return refusedOf(&who[i], wait)
		}
	}
	if len(who) == 0 {
		return nil
	}
	waits, alone := w.count(ctx, who, most, 1)
	return w.judge(ctx, who, most, waits, alone)
}

// subjects returns the subjects of a request, the user before the networks, and the limit of each.
func subjects(c Class, limit Window, user shop.ID, addr netip.Addr) (who []subject, most []int) {
	if user != 0 && limit.User > 0 {
		who, most = append(who, subject{class: c, user: user}), append(most, limit.User)
	}
	if limit.Addr > 0 {
		own, wide := shop.Networks(addr)
		who, most = append(who, subject{class: c, net: own}), append(most, limit.Addr)
		if wide.IsValid() {
			who, most = append(who, subject{class: c, net: wide}), append(most, limit.Addr*shop.WideShare)
		}
	}
	return who, most
}

// judge rejects if one of the counts does, and then takes back the others. The node counts the subjects that Redis has
// not counted.
func (w *Windows) judge(
	ctx context.Context, who []subject, most []int, waits []time.Duration, alone []bool,
) (failed error) {
	if slices.Contains(alone, true) {
		w.locally.Add(1)
	}
	now := w.now()
	var counted, paid []int
	for i := range who {
		if alone[i] {
			waits[i] = w.own.takeBy(who[i], now, w.share(most[i]))
		}
		switch {
		case waits[i] == 0 && alone[i]:
			paid = append(paid, i)
		case waits[i] == 0:
			counted = append(counted, i)
		case !alone[i]:
			w.refused.Hold(who[i], waits[i])
		}
		if waits[i] > 0 && failed == nil {
			failed = refusedOf(&who[i], waits[i])
		}
	}
	if failed == nil {
		return nil
	}
	for _, i := range paid {
		w.own.giveBackBy(who[i], w.share(most[i]))
	}
	for _, i := range counted {
		// If this is lost, one request too many is counted for one window.
		_, _ = w.count(ctx, who[i:i+1], most[i:i+1], -1)
	}
	return failed
}

func refusedOf(s *subject, wait time.Duration) error {
	if s.user != 0 {
		return Refused("too many requests from your account", wait)
	}
	return Refused("too many requests from your address", wait)
}

// count counts in Redis, in one pipeline, and returns which subjects the node has to count alone. Only calls that
// failed because the script was missing on a server, and counted nothing, are repeated in full.
func (w *Windows) count(ctx context.Context, who []subject, most []int, n int) (waits []time.Duration, alone []bool) {
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	waits, alone = make([]time.Duration, len(who)), make([]bool, len(who))
	todo := make([]int, 0, len(who))
	for i := range who {
		if alone[i] = w.isAlone(w.server(ctx, &who[i])); !alone[i] {
			todo = append(todo, i)
		}
	}
	for try := 0; len(todo) > 0; try++ {
		calls := make([]*redis.Cmd, len(todo))
		_, _ = w.redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each call keeps its error
			for c, i := range todo {
				ask := windowScript.EvalSha
				if try > 0 {
					ask = windowScript.Eval
				}
				calls[c] = ask(ctx, p, []string{who[i].key()}, w.length.Milliseconds(), most[i], n)
			}
			return nil
		})
		var unknown []int
		for c, i := range todo {
			ms, err := calls[c].Int64()
			switch {
			case err == nil:
				waits[i] = time.Duration(ms) * time.Millisecond
			case try == 0 && redis.HasErrorPrefix(err, "NOSCRIPT"):
				unknown = append(unknown, i)
			default:
				alone[i] = true
				w.leaveAlone(w.server(ctx, &who[i]))
			}
		}
		todo = unknown
	}
	return waits, alone
}

// server returns the address of the server that counts the subject, if known; "" without a cluster.
func (w *Windows) server(ctx context.Context, s *subject) string {
	cluster, ok := w.redis.(*redis.ClusterClient)
	if !ok {
		return ""
	}
	primary, err := cluster.MasterForKey(ctx, s.key())
	if err != nil {
		return ""
	}
	return primary.Options().Addr
}

// leaveAlone skips the server for aloneFor.
func (w *Windows) leaveAlone(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alone[server] = w.now() + int64(aloneFor)
}

func (w *Windows) isAlone(server string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now() < w.alone[server]
}

// share returns the pace of a subject's local bucket: the node's share of the limit, refilled within one window.
func (w *Windows) share(most int) steps {
	return Pace{Rate: most, Period: w.length, Burst: most}.Shared(int(w.nodes.Load())).steps()
}
