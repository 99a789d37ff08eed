//go:build crashpoints

package crash

import (
	"fmt"
	"testing"

	"stampede/app/test/kit"
)

// P6, I11: PubSub is cut again and again while people buy. It only carries hints: every event reaches every device on
// the socket that it has, and nobody has to come back for it.
func TestLostHints(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	w := openWorld(t, server.URL, kit.MySQL(t))
	w.crowded()
	n := w.start()
	w.enter(n)
	tr := w.trade(habits{cancels: 25})
	const cuts = 10
	var ended int64
	for i := range cuts {
		w.answered((i + 1) * 30)
		kit.Eventually(t, healing, func() (bool, string) {
			killed, err := w.redis.ClientKillByFilter(kit.Context(t), "TYPE", "pubsub").Result()
			ended += killed
			return killed > 0, fmt.Sprint("nobody subscribes ", err)
		})
	}
	tr.end()
	w.rest(n, fmt.Sprintf("%d subscriptions cut", ended))
	for _, h := range w.memory.copy().Heard {
		if h.Device == 0 && h.Via != ByEvent { // other devices are put away by their owners now and then
			t.Errorf("user %s heard of order %s by %s, not on the socket that was open", h.User, h.Order, h.Via)
		}
	}
}
