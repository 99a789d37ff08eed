package e2e

import (
	"fmt"
	"slices"
	"testing"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// awaitBoard waits until `condition` returns true for a board that the socket receives from now on. If several boards
// have arrived since the last check, it checks only the newest. `condition` also returns the reason if it returns
// false.
func (c *client) awaitBoard(condition func(b *board.Board) (ok bool, why string)) (found board.Board) {
	c.t.Helper()
	c.board.Store(nil)
	why := "received no board"
	kit.Eventually(c.t, waitTimeout, func() (ok bool, _ string) {
		if e := c.board.Swap(nil); e != nil {
			found = e.Board
			ok, why = condition(&found)
		}
		return ok, why
	})
	return found
}

// The live board on one node shows the buys of two nodes, sales, partitions and the latency from buy to order. Without
// Redis it continues, with an alarm.
func TestBoardShowsBothNodes(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	s := openShop(t, server.URL, kit.MySQL(t))
	sale := s.open(100, 1)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	operator := operatorToken(t)
	watcher := dial(t, a)
	_, err := watcher.Hello(operator, "")
	s.must(err)
	_, err = watcher.WatchBoard()
	s.must(err)
	shopper, _ := login(t, a, kit.NewID(), "")
	requireError(t, shop.Forbidden, func() error { _, err := shopper.WatchBoard(); return err }())

	var buys, reserved int64
	live := watcher.awaitBoard(func(live *board.Board) (bool, string) {
		if buys < 60 { // a few per check, so that every second has buys
			for i, n := range []*node{a, b} {
				c, _ := login(t, n, kit.NewID(), "")
				_, err := c.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("first-%d-%d", buys, i))
				s.must(err)
				c.requireBuyError(shop.LimitReached, sale.ID, 1, fmt.Sprintf("second-%d-%d", buys, i))
				reserved, buys = reserved+1, buys+2
			}
		}
		return len(live.Nodes) == 2 && live.BuysPerS > 1 && live.ReservedPerS > 0 && live.ConfirmedPerS > 0 &&
			live.LatencyMS.N > 1 &&
			live.RejectedPerS[shop.LimitReached] > 0, fmt.Sprintf("after %d buys the board is %+v, which does not count them", buys, live)
	})
	i := slices.IndexFunc(live.Sales, func(shown board.Sale) bool { return shown.ID == sale.ID })
	if i < 0 || live.Sales[i].Phase != shop.Open || live.Sales[i].Name != "Lamp" || live.Sales[i].Initial != 100 {
		t.Errorf("got sales %+v, want the open sale of 100 lamps", live.Sales)
	}
	if len(live.Partitions) != 8 || live.LatencyMS.P50 < 1 || live.LatencyMS.P99 < live.LatencyMS.P50 {
		t.Errorf("got %d partitions and the latency from buy to order %+v, want 8 and p99 ≥ p50 ≥ 1",
			len(live.Partitions), live.LatencyMS)
	}
	for i, roles := range [][]string{{"api", "worker", "sweeper"}, {"api"}} {
		n := live.Nodes[i]
		if !slices.Equal(n.Roles, roles) || n.Heap == 0 || len(n.Leases) != 1 || n.Leases[0].Until < live.Now {
			t.Errorf("got node %+v, want the roles %v and a lease that holds", n, roles)
		}
	}
	s.awaitDrained(sale)
	settled := watcher.awaitBoard(func(live *board.Board) (bool, string) {
		shown := live.Sales[slices.IndexFunc(live.Sales, func(x board.Sale) bool { return x.ID == sale.ID })]
		return shown.Held == reserved && shown.Stock == 100-reserved, fmt.Sprintf("of %d: %+v", reserved, shown)
	})
	if len(settled.Alarms) != 0 {
		t.Errorf("got alarms %+v, want none", settled.Alarms)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		var shown board.History
		a.expect(200, &shown, a.read, "/api/v1/operator/board", operator, nil)
		history := shown.History
		return len(history) > 0 && history[len(history)-1].Sockets > 0, fmt.Sprintf("history %+v", history)
	})

	server.Kill()
	watcher.awaitBoard(func(live *board.Board) (bool, string) {
		unreachable := slices.ContainsFunc(live.Alarms,
			func(a board.Alarm) bool { return a.Name == board.AlarmRedisUnreachable })
		return unreachable && len(live.Nodes) == 1, fmt.Sprintf("alarms %+v, nodes %+v", live.Alarms, live.Nodes)
	})
}
