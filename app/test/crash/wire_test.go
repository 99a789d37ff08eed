//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
	"stampede/streams"
)

// wires are the proxies between a node and its stores.
type wires struct{ redis, mysql *kit.Proxy }

// fault disturbs the wires of a node while buyers buy. hadEffect reports whether the fault has had an effect.
type fault struct {
	begin     func(t *testing.T, w wires)
	hadEffect func(w wires, m *memory) bool
}

// dropReplies drops the replies to the next ten requests that contain the pattern: the server executes the requests,
// but the node receives no reply.
func dropReplies(wire func(wires) *kit.Proxy, pattern func(t *testing.T) string) fault {
	return fault{
		begin:     func(t *testing.T, w wires) { wire(w).DropReplies(pattern(t), 10) },
		hadEffect: func(w wires, _ *memory) bool { return wire(w).Dropped() >= 3 },
	}
}

// disturb disturbs a wire until the outcome of a buy is unknown, or 50 more buys have succeeded.
func disturb(begin func(w wires)) fault {
	var before int
	return fault{
		begin: func(_ *testing.T, w wires) { begin(w) },
		hadEffect: func(_ wires, m *memory) bool {
			if before == 0 {
				before = m.acceptedCount() + 1
			}
			return m.unknown() > 0 || m.acceptedCount() > before+50
		},
	}
}

func toRedis(w wires) *kit.Proxy { return w.redis }
func toMySQL(w wires) *kit.Proxy { return w.mysql }

// scriptSHA returns the SHA of a script, as EVALSHA contains it.
func scriptSHA(name string) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		sha := streams.ScriptSHA(name)
		if sha == "" {
			t.Fatalf("script %q does not exist", name)
		}
		return sha
	}
}

func literal(pattern string) func(*testing.T) string {
	return func(*testing.T) string { return pattern }
}

// I6: an unknown outcome is not a failure. Replies to the buy script, to COMMIT and to the acknowledging script (XACK)
// are lost; wires are cut, stalled and slow. Each fault is tested alone and with a kill of the node.
func TestLostRepliesLoseNoOrder(t *testing.T) {
	faults := map[string]func() fault{
		"reserve":       func() fault { return dropReplies(toRedis, scriptSHA("reserve")) },
		"commit":        func() fault { return dropReplies(toMySQL, literal("commit")) },
		"xack":          func() fault { return dropReplies(toRedis, scriptSHA("finish")) },
		"return":        func() fault { return dropReplies(toRedis, scriptSHA("return")) },
		"redis cut":     func() fault { return disturb(func(w wires) { w.redis.Cut() }) },
		"redis stalled": func() fault { return disturb(func(w wires) { w.redis.Stall() }) },
		"redis slow":    func() fault { return disturb(func(w wires) { w.redis.Delay(150 * time.Millisecond) }) },
		"mysql cut":     func() fault { return disturb(func(w wires) { w.mysql.Cut() }) },
		"mysql stalled": func() fault { return disturb(func(w wires) { w.mysql.Stall() }) },
		"mysql slow":    func() fault { return disturb(func(w wires) { w.mysql.Delay(150 * time.Millisecond) }) },
	}
	for name, newFault := range faults {
		for _, kill := range []bool{false, true} {
			t.Run(strings.ReplaceAll(name, " ", "-")+map[bool]string{true: "-and-kill"}[kill], func(t *testing.T) {
				t.Parallel()
				sellDuringFault(t, newFault(), kill)
			})
		}
	}
}

func sellDuringFault(t *testing.T, f fault, kill bool) {
	redisURL, dsn := kit.Redis(t), kit.MySQL(t)
	w := openWorld(t, redisURL, dsn)
	w.twoSales()
	w.addBuyers(20)
	wire := wires{kit.NewProxy(t, redisURL), kit.NewProxy(t, dsn)}
	n := w.start("STAMPEDE_REDIS_URL="+wire.redis.URL, "STAMPEDE_MYSQL_DSN="+wire.mysql.URL)
	w.enter(n)
	tr := w.trade(behaviour{cancelPercent: 25})
	w.awaitAccepted(20 + w.rng.IntN(40))
	f.begin(t, wire)
	kit.Eventually(t, settleTimeout, func() (bool, string) {
		return f.hadEffect(wire, &w.memory), fmt.Sprintf("the fault had no effect; Redis lost %d replies, MySQL %d",
			wire.redis.Dropped(), wire.mysql.Dropped())
	})
	uncommitted := w.uncommitted()
	next := n
	if kill {
		n.Kill()
		tr.end()
		next = w.start()
	} else {
		wire.redis.Restore()
		wire.mysql.Restore()
		tr.end()
	}
	w.reconnectAll(next)
	w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
}
