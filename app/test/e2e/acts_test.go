package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// lastNotice is what the client was told last; false: nothing yet.
func (c *client) lastNotice() (text string, told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.notices) == 0 {
		return "", false
	}
	return c.notices[len(c.notices)-1].Text, true
}

// What an operator does at one node holds at all: a notice is told to who is there and to who comes, until it is taken
// back, and a switch turns buying over HTTP off and on.
func TestNoticesAndSwitchesHoldAtEveryNode(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100_000, 5)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	operator := operatorToken(t)
	here, _ := viewer(t, a)
	there, _ := viewer(t, b)
	hears := func(who *client, want string) {
		t.Helper()
		kit.Eventually(t, 15*time.Second, func() (bool, string) {
			text, told := who.lastNotice()
			return told && text == want, "told " + text
		})
	}
	const text = "Kettles are late."
	a.expect(http.StatusOK, nil, a.post, "/api/v1/operator/notice", operator, map[string]any{
		"level": "warning", "text": text,
	})
	hears(here, text)
	hears(there, text)
	newcomer, _ := viewer(t, b)
	hears(newcomer, text)
	var standing struct{ Notice *app.Notice }
	b.expect(http.StatusOK, &standing, b.read, "/api/v1/operator/notice", operator, nil)
	if standing.Notice == nil || standing.Notice.Text != text {
		t.Errorf("the other node knows the notice %+v", standing.Notice)
	}
	if status, answer := b.request(http.MethodDelete, "http://"+b.addr+"/api/v1/operator/notice", operator, nil); status != 200 {
		t.Fatalf("taking it back: %d %s", status, answer)
	}
	for _, who := range []*client{here, there, newcomer} {
		hears(who, "")
	}

	buy := func(n *node) int {
		status, _ := n.post("/api/v1/sales/"+sale.ID.String()+"/buy", token(t, kit.NewID()),
			map[string]any{"qty": 1, "key": "switched-key"})
		return status
	}
	for _, on := range []bool{false, true} {
		var switches app.Switches
		b.expect(http.StatusOK, &switches, b.read, "/api/v1/operator/switches", operator, nil)
		b.expect(http.StatusOK, nil, b.patch, "/api/v1/operator/switches", operator, map[string]any{
			"version": switches.Version, "http_buy": on,
		})
		want := http.StatusForbidden
		if on {
			want = http.StatusOK
		}
		for _, n := range []*node{a, b} {
			kit.Eventually(t, 15*time.Second, func() (bool, string) {
				return buy(n) == want, "the switch does not hold here"
			})
		}
	}
}

// A store goes away in the middle of an act, and the answer with it: the act is repeated with the same key until it is
// answered, and was done once, in the database, in Redis, and in the journal.
func TestActsWhileAStoreGoesAway(t *testing.T) {
	t.Parallel()
	s, redis, database := wired(t)
	sales := map[string]app.Sale{"Redis": s.open(10, 5), "database": s.open(10, 5), "answer": s.open(10, 5)}
	n := s.start()
	operator := operatorToken(t)
	for name, away := range map[string]func(){
		"Redis": redis.Cut, "database": database.Cut, "answer": func() { database.DropReplies("commit", 1) },
	} {
		sale := sales[name]
		path := "/api/v1/operator/sales/" + sale.ID.String()
		c, _ := login(t, n, kit.NewID(), "")
		_, err := c.BuyUntilKnown(sale.ID, 1, "loads-the-sale")
		s.must(err)
		s.drained(sale, 30*time.Second)
		var before app.OperatorSale
		n.expect(http.StatusOK, &before, n.post, path+"/stock", operator, map[string]any{"version": 1, "units": 1})
		body, err := json.Marshal(map[string]any{"version": before.Version, "units": 5, "note": name})
		s.must(err)
		key := "act-" + kit.NewID().String()
		act := func() (int, []byte) { return n.act(path+"/stock", operator, key, body) }
		away()
		first, _ := act()
		redis.Restore()
		database.Restore()
		var after app.OperatorSale
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			status, answer := act()
			return status == http.StatusOK && json.Unmarshal(answer, &after) == nil, string(answer)
		})
		if after.Added != 6 {
			t.Errorf("%s away: first answered %d; then there are %d units more, want 6", name, first, after.Added)
		}
		if status, answer := act(); status != http.StatusOK || !strings.Contains(string(answer), `"added":6`) {
			t.Errorf("%s away: repeated once more: %d %s", name, status, answer)
		}
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			return s.counter(sale, "stock") == 15, "Redis does not have the units"
		})
		if got := s.count("SELECT COUNT(*) FROM journal WHERE act_key = ?", key); got != 1 {
			t.Errorf("%s away: %d rows of the journal", name, got)
		}
		s.audit(sale)
	}
	if out, code := s.run("journal", "verify"); code != 0 {
		t.Errorf("the journal: %d %s", code, out)
	}
}

// The checklist of a sale on a live node: everything is looked at, and what is away is what fails.
func TestReadinessOfALiveNode(t *testing.T) {
	t.Parallel()
	s, redis, _ := wired(t)
	sale := s.open(10, 5)
	n := s.start()
	operator := operatorToken(t)
	list := func() (r app.Readiness, states map[string][]app.CheckState) {
		t.Helper()
		n.expect(http.StatusOK, &r, n.read, "/api/v1/operator/sales/"+sale.ID.String()+"/readiness", operator, nil)
		states = make(map[string][]app.CheckState)
		for _, c := range r.Checks {
			states[c.Name] = append(states[c.Name], c.State)
			if c.Says == "" || !slices.Contains(app.CheckCodes(), c.Code) || c.State != app.CheckOK && c.Do == "" {
				t.Errorf("a check that says too little: %+v", c)
			}
		}
		return r, states
	}
	c, _ := login(t, n, kit.NewID(), "")
	_, err := c.BuyUntilKnown(sale.ID, 1, "loads-the-sale")
	s.must(err)
	s.drained(sale, 30*time.Second)
	var states map[string][]app.CheckState
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		var r app.Readiness
		r, states = list()
		return !slices.ContainsFunc(r.Checks, func(c app.Check) bool {
			return c.State == app.CheckFail && c.Name != "payment" // nothing can be paid here
		}), "not ready"
	})
	for _, name := range []string{
		"offer", "stock", "partition", "backlog", "node: api", "node: worker", "node: sweeper", "clock", "payment", "mail", "durability",
	} {
		if len(states[name]) == 0 {
			t.Errorf("nobody looked at %q: %v", name, states)
		}
	}
	redis.Cut()
	if r, states := list(); r.OK || !slices.Contains(states["stock"], app.CheckFail) ||
		!slices.Contains(states["partition"], app.CheckFail) {
		t.Errorf("without Redis: ready %v, %v", r.OK, states)
	}
}
