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

// fault disturbs the wires of a node while buyers buy. felt reports whether it has had an effect.
type fault struct {
	begin func(t *testing.T, w wires)
	felt  func(w wires, m *memory) bool
}

// losing drops the replies to the next ten requests that contain the pattern: the requests are carried out, but the
// node receives no reply.
func losing(wire func(wires) *kit.Proxy, pattern func(t *testing.T) string) fault {
	return fault{
		begin: func(t *testing.T, w wires) { wire(w).DropReplies(pattern(t), 10) },
		felt:  func(w wires, _ *memory) bool { return wire(w).Dropped() >= 3 },
	}
}

// breaking disturbs a wire until the outcome of a buy is unknown, or 50 more buys have succeeded.
func breaking(begin func(w wires)) fault {
	var before int
	return fault{
		begin: func(_ *testing.T, w wires) { begin(w) },
		felt: func(_ wires, m *memory) bool {
			if before == 0 {
				before = m.answeredSoFar() + 1
			}
			return m.unknown() > 0 || m.answeredSoFar() > before+50
		},
	}
}

func toRedis(w wires) *kit.Proxy { return w.redis }
func toMySQL(w wires) *kit.Proxy { return w.mysql }

// scriptName returns the SHA of a script as in EVALSHA.
func scriptName(name string) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		sha := streams.ScriptSHA(name)
		if sha == "" {
			t.Fatalf("script %q does not exist", name)
		}
		return sha
	}
}

func literally(pattern string) func(*testing.T) string {
	return func(*testing.T) string { return pattern }
}

// I6: an unknown outcome is not a failure. Replies to the buy script, to COMMIT and to the acknowledging script (XACK)
// are lost; wires are cut, stalled and slow. Each fault is tested alone and with a kill of the node.
func TestLostReplies(t *testing.T) {
	faults := map[string]func() fault{
		"reserve":       func() fault { return losing(toRedis, scriptName("reserve")) },
		"commit":        func() fault { return losing(toMySQL, literally("commit")) },
		"xack":          func() fault { return losing(toRedis, scriptName("finish")) },
		"return":        func() fault { return losing(toRedis, scriptName("return")) },
		"redis cut":     func() fault { return breaking(func(w wires) { w.redis.Cut() }) },
		"redis stalled": func() fault { return breaking(func(w wires) { w.redis.Stall() }) },
		"redis slow":    func() fault { return breaking(func(w wires) { w.redis.Delay(150 * time.Millisecond) }) },
		"mysql cut":     func() fault { return breaking(func(w wires) { w.mysql.Cut() }) },
		"mysql stalled": func() fault { return breaking(func(w wires) { w.mysql.Stall() }) },
		"mysql slow":    func() fault { return breaking(func(w wires) { w.mysql.Delay(150 * time.Millisecond) }) },
	}
	for name, make := range faults {
		for _, kill := range []bool{false, true} {
			t.Run(strings.ReplaceAll(name, " ", "-")+map[bool]string{true: "-and-kill"}[kill], func(t *testing.T) {
				t.Parallel()
				live(t, make(), kill)
			})
		}
	}
}

func live(t *testing.T, f fault, kill bool) {
	redisURL, dsn := kit.Redis(t), kit.MySQL(t)
	w := openWorld(t, redisURL, dsn)
	w.twoSales()
	w.invite(20)
	wire := wires{kit.NewProxy(t, redisURL), kit.NewProxy(t, dsn)}
	n := w.start("STAMPEDE_REDIS_URL="+wire.redis.URL, "STAMPEDE_MYSQL_DSN="+wire.mysql.URL)
	w.enter(n)
	tr := w.trade(habits{cancels: 25})
	w.answered(20 + w.dice.IntN(40))
	f.begin(t, wire)
	kit.Eventually(t, healing, func() (bool, string) {
		return f.felt(wire, &w.memory), fmt.Sprintf("the fault had no effect; Redis lost %d replies, MySQL %d",
			wire.redis.Dropped(), wire.mysql.Dropped())
	})
	lost := w.uncommitted()
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
	w.rest(next, fmt.Sprintf("%3d uncommitted", lost))
}
