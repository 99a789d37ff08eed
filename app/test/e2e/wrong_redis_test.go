package e2e

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// A node with the address of another, empty Redis does not start while other nodes use the Redis with the shop's data,
// and these nodes continue to sell. When they are gone, an empty Redis is restored from rows by itself.
func TestNodeWithAnEmptyRedisDoesNotTakeOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100, 100)
	good := s.start()
	buyer, _ := login(t, good, kit.NewID(), "")
	_, err := buyer.BuyUntilKnown(sale.ID, 1, "before-the-wrong-node")
	s.must(err)

	wrong := launch(t, append(s.settings, "STAMPEDE_REDIS_URL="+kit.Redis(t))...)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return strings.Contains(wrong.Text(), "this Redis is empty, and 1 other nodes use another Redis"), wrong.Tail()
	})
	for range 5 {
		s.must(sleep(kit.Context(t), 1000)) // several inspections
		if _, err := buyer.Buy(sale.ID, 1, "beside-the-wrong-node-"+kit.NewID().String()); err != nil {
			t.Fatalf("a buy on the good node: %v", err)
		}
	}
	if kit.Ready(t, wrong.addr) {
		t.Fatal("the node with an empty Redis is ready")
	}
	good.Kill()
	wrong.waitReady()
	restored, _ := login(t, wrong, kit.NewID(), "")
	_, err = restored.BuyUntilKnown(sale.ID, 1, "on-the-restored-redis")
	s.must(err)
}

// A node does not start with the Redis of another shop, and changes nothing there.
func TestNodeRefusesTheRedisOfAnotherShop(t *testing.T) {
	t.Parallel()
	other := newShop(t)
	sale := other.open(10, 1)
	running := other.start()
	s := newShop(t)
	wrong := launch(t, append(s.settings, "STAMPEDE_REDIS_URL="+other.redisURL)...)
	kit.Eventually(t, waitTimeout, func() (bool, string) { return wrong.Exited(), wrong.Tail() })
	if text := wrong.Text(); wrong.Cmd.ProcessState.ExitCode() != 1 ||
		!strings.Contains(text, "belongs to the shop") || !strings.Contains(text, "STAMPEDE_REDIS_URL") {
		t.Errorf("exit code %d, want 1 with the settings to correct:\n%s", wrong.Cmd.ProcessState.ExitCode(), text)
	}
	buyer, _ := login(t, running, kit.NewID(), "")
	if _, err := buyer.Buy(sale.ID, 1, "after-the-wrong-node"); err != nil {
		t.Errorf("a buy in the other shop: %v", err)
	}
}
