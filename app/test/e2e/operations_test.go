package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// lastNotice returns the text of the newest banner event; false: no event received.
func (c *client) lastNotice() (text string, published bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.notices) == 0 {
		return "", false
	}
	return c.notices[len(c.notices)-1].Text, true
}

// An operation on one node takes effect on all nodes. All clients, also new ones, receive a banner until it is removed.
// A switch turns buying over HTTP off and on. Viewers at one node see the buys of the other.
func TestNoticesAndSwitchesApplyOnAllNodes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100_000, 5)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	operator := operatorToken(t)
	viewerA, _ := watchSlot(t, a)
	viewerB, _ := watchSlot(t, b)
	awaitNotice := func(viewer *client, want string) {
		t.Helper()
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			text, published := viewer.lastNotice()
			return published && text == want, fmt.Sprintf("received the banner %q, want %q", text, want)
		})
	}
	buyer, _ := login(t, a, kit.NewID(), "")
	_, err := buyer.BuyUntilKnown(sale.ID, 5, "five-units")
	s.must(err)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		stock, held := viewerB.lastTick(sale.ID)
		return stock == 99_995 && held == 5, fmt.Sprintf("the other node's tick has stock %d, held %d", stock, held)
	})
	const text = "Kettles are late."
	a.expect(http.StatusOK, nil, a.post, "/api/v1/operator/notice", operator, map[string]any{
		"level": "warning", "text": text,
	})
	awaitNotice(viewerA, text)
	awaitNotice(viewerB, text)
	newViewer, _ := watchSlot(t, b)
	awaitNotice(newViewer, text)
	var current struct{ Notice *shop.Notice }
	b.expect(http.StatusOK, &current, b.read, "/api/v1/operator/notice", operator, nil)
	if current.Notice == nil || current.Notice.Text != text {
		t.Errorf("the other node returns the notice %+v", current.Notice)
	}
	if status, response := b.request(http.MethodDelete, "http://"+b.addr+"/api/v1/operator/notice", operator, nil); status != 200 {
		t.Fatalf("deleting the notice got %d %s, want 200", status, response)
	}
	for _, viewer := range []*client{viewerA, viewerB, newViewer} {
		awaitNotice(viewer, "")
	}

	buy := func(n *node) int {
		status, _ := n.post("/api/v1/sales/"+sale.ID.String()+"/buy", token(t, kit.NewID()),
			map[string]any{"qty": 1, "key": "switched-key"})
		return status
	}
	for _, enabled := range []bool{false, true} {
		var switches backoffice.Switches
		b.expect(http.StatusOK, &switches, b.read, "/api/v1/operator/switches", operator, nil)
		b.expect(http.StatusOK, nil, b.patch, "/api/v1/operator/switches", operator, map[string]any{
			"version": switches.Version, "http_buy": enabled,
		})
		want := http.StatusForbidden
		if enabled {
			want = http.StatusOK
		}
		for _, n := range []*node{a, b} {
			kit.Eventually(t, waitTimeout, func() (bool, string) {
				return buy(n) == want, "the switch has no effect on this node"
			})
		}
	}
}

// The readiness of a sale on a live node contains all checks. If a store is unreachable, its checks fail.
func TestReadinessContainsAllChecks(t *testing.T) {
	t.Parallel()
	s, redis, _ := newProxiedShop(t)
	sale := s.open(10, 5)
	n := s.start()
	operator := operatorToken(t)
	list := func() (r backoffice.Readiness, states map[string][]backoffice.CheckState) {
		t.Helper()
		n.expect(http.StatusOK, &r, n.read, "/api/v1/operator/sales/"+sale.ID.String()+"/readiness", operator, nil)
		states = make(map[string][]backoffice.CheckState)
		for _, c := range r.Checks {
			states[c.Name] = append(states[c.Name], c.State)
			if c.Message == "" || !slices.Contains(
				backoffice.CheckCodes(), c.Code,
			) || c.State != backoffice.CheckOK && c.Do == "" {
				t.Errorf("a check without text, code or remedy: %+v", c)
			}
		}
		return r, states
	}
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "loads-the-sale")
	s.must(err)
	s.awaitDrained(sale)
	var states map[string][]backoffice.CheckState
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		var r backoffice.Readiness
		r, states = list()
		return !slices.ContainsFunc(r.Checks, func(c backoffice.Check) bool {
			return c.State == backoffice.CheckFail && c.Name != "payment" // payment is not configured here
		}), "not ready"
	})
	for _, name := range []string{
		"offer", "stock", "partition", "backlog", "node: api", "node: worker", "node: sweeper", "clock", "payment", "mail", "durability",
	} {
		if len(states[name]) == 0 {
			t.Errorf("got checks %[2]v, want also the check %[1]q", name, states)
		}
	}
	rejectWrites(t, redis.URL, true)
	if r, states := list(); r.OK || !slices.Contains(states["writes"], backoffice.CheckFail) {
		t.Errorf("while writes are rejected: ready %v, %v", r.OK, states)
	}
	redis.Cut()
	if r, states := list(); r.OK || !slices.Contains(states["stock"], backoffice.CheckFail) ||
		!slices.Contains(states["partition"], backoffice.CheckFail) {
		t.Errorf("without Redis: ready %v, %v", r.OK, states)
	}
}
