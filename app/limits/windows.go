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
	countTimeout = 250 * time.Millisecond // time limit for a count in Redis; after it, the node counts alone
	skipTime     = time.Second            // how long the node counts alone before it tries Redis again
)

// Window is the limit of requests of a class per window, for a user and for an address (0: no limit).
type Window struct{ User, Addr int }

// subject is a user or a network (shop.Networks), for a class.
type subject struct {
	class Class
	user  shop.ID // 0: the network
	net   netip.Prefix
}

// key returns the Redis key of the subject. Each key has its own hash tag, because no script uses two keys.
func (s *subject) key() string {
	if s.user != 0 {
		return "stampede:{w:u:" + s.user.String() + "}:" + string(s.class)
	}
	return "stampede:{w:a:" + s.net.String() + "}:" + string(s.class)
}

// Windows are sliding windows that all nodes of a shop count together in Redis, in one pipeline per request. A rejected
// caller is remembered and costs Redis nothing until its next request is accepted. While Redis (in a cluster: the
// server of a count) is unavailable, each node counts requests alone and applies its share of the limits.
type Windows struct {
	redis  redis.UniversalClient
	length time.Duration
	now    func() int64

	rejected   *Table[subject] // the remaining waits of rejected subjects
	nodes      atomic.Int64    // nodes that share the limits without Redis
	local      *Table[subject] // counts of this node alone, see share
	localCount atomic.Int64    // requests counted by this node alone

	mu           sync.Mutex
	skippedUntil map[string]int64 // server → instant until which the node counts the server's subjects alone
}

// NewWindows returns windows of one length.
func NewWindows(client redis.UniversalClient, length time.Duration) *Windows {
	w := &Windows{
		redis: client, length: length, now: sinceStart(), skippedUntil: make(map[string]int64),
		rejected: NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
		local:    NewTable[subject](Pace{Rate: 1_000_000_000, Period: time.Second, Burst: 1}),
	}
	w.nodes.Store(1)
	return w
}

// SetNodes sets how many nodes share the limits while Redis is unavailable.
func (w *Windows) SetNodes(nodes int) { w.nodes.Store(int64(max(1, nodes))) }

// CountedLocally returns how many requests the node has counted without Redis.
func (w *Windows) CountedLocally() int64 { return w.localCount.Load() }

// Take counts a request of the user (0: unknown) from the address, or fails with RateLimited and the time until the
// next request is accepted. A rejected request is not counted.
func (w *Windows) Take(ctx context.Context, c Class, limit Window, user shop.ID, addr netip.Addr) error {
	subjectList, maxCount := subjects(c, limit, user, addr)
	for i := range subjectList {
		if wait := w.rejected.Wait(subjectList[i]); wait > 0 {
			return limitErrorOf(&subjectList[i], wait)
		}
	}
	if len(subjectList) == 0 {
		return nil
	}
	waits, local := w.count(ctx, subjectList, maxCount, 1)
	return w.applyCounts(ctx, subjectList, maxCount, waits, local)
}

// subjects returns the subjects of a request, the user before the networks, and the limit of each.
func subjects(c Class, limit Window, user shop.ID, addr netip.Addr) (subjectList []subject, maxCount []int) {
	if user != 0 && limit.User > 0 {
		subjectList, maxCount = append(subjectList, subject{class: c, user: user}), append(maxCount, limit.User)
	}
	if limit.Addr > 0 {
		narrow, wide := shop.Networks(addr)
		subjectList, maxCount = append(subjectList, subject{class: c, net: narrow}), append(maxCount, limit.Addr)
		if wide.IsValid() {
			subjectList, maxCount = append(subjectList, subject{class: c, net: wide}), append(maxCount,
				limit.Addr*shop.WideFactor)
		}
	}
	return subjectList, maxCount
}

// applyCounts counts the subjects that Redis has not counted, in this node. It rejects the request if one of its
// subjects has reached its limit. Then it removes the request from the counts of the other subjects.
func (w *Windows) applyCounts(
	ctx context.Context, subjectList []subject, maxCount []int, waits []time.Duration, local []bool,
) (failed error) {
	if slices.Contains(local, true) {
		w.localCount.Add(1)
	}
	now := w.now()
	var counted, countedLocally []int
	for i := range subjectList {
		if local[i] {
			waits[i] = w.local.takeWith(subjectList[i], now, w.share(maxCount[i]))
		}
		switch {
		case waits[i] == 0 && local[i]:
			countedLocally = append(countedLocally, i)
		case waits[i] == 0:
			counted = append(counted, i)
		case !local[i]:
			w.rejected.Hold(subjectList[i], waits[i])
		}
		if waits[i] > 0 && failed == nil {
			failed = limitErrorOf(&subjectList[i], waits[i])
		}
	}
	if failed == nil {
		return nil
	}
	for _, i := range countedLocally {
		w.local.giveBackWith(subjectList[i], w.share(maxCount[i]))
	}
	for _, i := range counted {
		// If this call fails, one request too many is counted for one window.
		_, _ = w.count(ctx, subjectList[i:i+1], maxCount[i:i+1], -1)
	}
	return failed
}

func limitErrorOf(s *subject, wait time.Duration) error {
	if s.user != 0 {
		return RateLimitError("too many requests from your account", wait)
	}
	return RateLimitError("too many requests from your address", wait)
}

// count counts in Redis, in one pipeline, and returns which subjects the node has to count alone. A call that failed
// because the script was missing on its server has counted nothing. Only such calls are repeated, with the script's
// text.
func (w *Windows) count(
	ctx context.Context, subjectList []subject, maxCount []int, n int,
) (waits []time.Duration, local []bool) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	waits, local = make([]time.Duration, len(subjectList)), make([]bool, len(subjectList))
	todo := make([]int, 0, len(subjectList))
	for i := range subjectList {
		if local[i] = w.isSkipped(w.server(ctx, &subjectList[i])); !local[i] {
			todo = append(todo, i)
		}
	}
	for try := 0; len(todo) > 0; try++ {
		calls := make([]*redis.Cmd, len(todo))
		_, _ = w.redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each call keeps its error
			for c, i := range todo {
				eval := windowScript.EvalSha
				if try > 0 {
					eval = windowScript.Eval
				}
				calls[c] = eval(ctx, p, []string{subjectList[i].key()}, w.length.Milliseconds(), maxCount[i], n)
			}
			return nil
		})
		var withoutScript []int
		for c, i := range todo {
			ms, err := calls[c].Int64()
			switch {
			case err == nil:
				waits[i] = time.Duration(ms) * time.Millisecond
			case try == 0 && redis.HasErrorPrefix(err, "NOSCRIPT"):
				withoutScript = append(withoutScript, i)
			default:
				local[i] = true
				w.skipServer(w.server(ctx, &subjectList[i]))
			}
		}
		todo = withoutScript
	}
	return waits, local
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

// skipServer skips the server for skipTime.
func (w *Windows) skipServer(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skippedUntil[server] = w.now() + int64(skipTime)
}

func (w *Windows) isSkipped(server string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now() < w.skippedUntil[server]
}

// share returns the pace of a subject's local bucket: the node's share of the limit, refilled within one window.
func (w *Windows) share(maxCount int) steps {
	return Pace{Rate: maxCount, Period: w.length, Burst: maxCount}.Shared(int(w.nodes.Load())).steps()
}
