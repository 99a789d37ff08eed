package realtime

import (
	"context"
	"testing"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

// boardNode starts a node with a board whose history has one point.
func boardNode(t *testing.T) *node {
	return startNode(t, func(o *Options) {
		o.BoardHistory = func(context.Context) []board.Point { return []board.Point{{At: 5}} }
	})
}

func (n *node) setOperators(users ...shop.ID) {
	n.shop.set(func(s *fakeShop) {
		s.operators = make(map[shop.ID]bool)
		for _, user := range users {
			s.operators[user] = true
		}
	})
}

// Only operators that requested the board receive it, after the history.
func TestOnlyOperatorsReceiveTheBoard(t *testing.T) {
	t.Parallel()
	n := boardNode(t)
	n.setOperators(1, 2)
	one, two, shopper := n.connect(t, 1), n.connect(t, 2), n.connect(t, 7)
	for who, code := range map[*peer]shop.Code{shopper: shop.Forbidden, n.connect(t, 0): shop.Unauthorized} {
		who.wantError(`"op":"board","on":true`, code)
	}
	if n.hub.BoardWatched() {
		t.Error("a rejected user watches the board")
	}
	for _, bad := range []string{`"op":"board"`, `"op":"board","on":1`, `"op":"board","on":"true"`} {
		one.wantError(bad, shop.BadRequest)
	}
	if before, err := one.conn.WatchBoard(); err != nil || len(before.History) != 1 || before.History[0].At != 5 {
		t.Fatalf("got history %+v, error %v; want one point at 5", before, err)
	}
	n.hub.ShowBoard(&board.Board{Now: 11, Rates: board.Rates{BuysPerS: 2}})
	if got := one.awaitEvents("board", 1)[0].Event.(*wsclient.BoardEvent); got.Now != 11 || got.BuysPerS != 2 {
		t.Errorf("got board %+v, want now 11 and buys_s 2", got)
	}
	if err := one.conn.LeaveBoard(); err != nil || n.hub.BoardWatched() {
		t.Errorf("after leaving: error %v, board watched %v", err, n.hub.BoardWatched())
	}
	n.hub.ShowBoard(&board.Board{Now: 12})
	for _, p := range []*peer{one, two, shopper} {
		p.waitHandled()
	}
	if len(one.all("board")) != 1 || len(two.all("board"))+len(shopper.all("board")) != 0 {
		t.Error("a peer that does not watch the board received it")
	}
}

// A client that loses the operator role or disconnects receives no more boards.
func TestBoardStopsWhenOperatorRoleIsLost(t *testing.T) {
	t.Parallel()
	n := boardNode(t)
	n.setOperators(1, 2)
	demoted, gone := n.connect(t, 1), n.connect(t, 2)
	for _, p := range []*peer{demoted, gone} {
		if _, err := p.conn.WatchBoard(); err != nil {
			t.Fatal(err)
		}
	}
	gone.conn.Close()
	n.awaitClients(1)
	n.setOperators()
	if _, err := demoted.conn.Renew("user:1"); err != nil {
		t.Fatal(err)
	}
	n.hub.ShowBoard(&board.Board{Now: 3})
	demoted.waitHandled()
	if len(demoted.all("board")) != 0 || n.hub.BoardWatched() {
		t.Error("a demoted operator still receives the board")
	}
}

// A node without a board returns UnknownOp.
func TestNodeWithoutBoardReturnsUnknownOp(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.setOperators(1)
	n.connect(t, 1).wantError(`"op":"board","on":true`, shop.UnknownOp)
}
