//go:build crashpoints

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// deed is an operator's request to a node that dies while it handles the request.
type deed struct {
	method, path string
	body         map[string]any
	// missing returns the missing effect on a restarted node; "" when all effects are there.
	missing func(n *node) string
}

// dieActing: an operation runs while buyers buy, and the node dies without a response. The next life completes the
// operation on its own. A repeat under the same key gets the response and has no second effect.
func dieActing(t *testing.T, flow, point string) {
	w := newWorld(t)
	w.twoSales()
	_, err := w.db.ExecContext(kit.Context(t), // operations accept only whole seconds
		"UPDATE sales SET opens_at = opens_at - opens_at % 1000, closes_at = closes_at - closes_at % 1000")
	w.must(err)
	w.invite(6)
	victim := w.start(w.crashAt(point, 1))
	w.enter(victim)
	tr := w.trade(habits{cancels: 25})
	w.answered(5)
	d := w.deed(flow)
	ada, key := w.token(kit.NewID(), shop.Operator), "act-lost-"+flow
	if status, answer, err := w.call(victim, ada, key, d); err == nil {
		t.Fatalf("got a response from a node that should have died: %d: %s", status, answer)
	}
	victim.waitDeath(point)
	tr.end()
	next := w.start()
	w.reconnectAll(next)
	kit.Eventually(t, healing, func() (bool, string) {
		missing := d.missing(next)
		return missing == "", missing
	})
	w.askAgain(next, ada, key, d)
	w.rest(next, "")
}

// deed returns an operation of the flow. It applies to the bigger of the two sales.
func (w *world) deed(flow string) deed {
	w.t.Helper()
	sale, err := w.books.Sale(kit.Context(w.t), w.sales[0].ID)
	w.must(err)
	on := "/api/v1/operator/sales/" + sale.ID.String()
	decided := func(*node) string { return w.undecided(&sale) }
	version := map[string]any{"version": sale.Version}
	switch flow {
	case "act":
		version["units"] = 7
		path := []string{on + "/pause", on + "/end", on + "/stock"}[w.dice.IntN(3)]
		if !strings.HasSuffix(path, "/stock") {
			delete(version, "units")
		}
		return deed{http.MethodPost, path, version, decided}
	case "edit":
		version["cap"] = 9_000
		return deed{http.MethodPatch, on, version, decided}
	case "withdraw":
		version["units"] = -7
		return deed{http.MethodPost, on + "/stock", version, decided}
	case "switch":
		body := map[string]any{"version": 0, "http_buy": false}
		return deed{http.MethodPatch, "/api/v1/operator/switches", body, w.buysOverHTTP}
	case "notice":
		body := map[string]any{"level": "info", "text": "More at noon."}
		return deed{http.MethodPost, "/api/v1/operator/notice", body, func(n *node) string {
			return w.bannerMissing(n, "More at noon.")
		}}
	default:
		who := kit.NewID()
		body := map[string]any{"kind": "user", "value": who.String()}
		return deed{http.MethodPost, "/api/v1/operator/blocks", body, func(n *node) string {
			me := deed{http.MethodGet, "/api/v1/orders", nil, nil}
			status, answer, err := w.call(n, w.token(who, shop.Shopper), "", me)
			if status == http.StatusForbidden {
				return ""
			}
			return fmt.Sprintf("a blocked user got %d %s %v, want 403", status, answer, err)
		}}
	}
}

// undecided returns the part of an operation on a sale that is missing in Redis; "" when Redis has all of it. before is
// the sale before the operation.
func (w *world) undecided(before *shop.Sale) string {
	w.t.Helper()
	ctx := kit.Context(w.t)
	sale, err := w.books.Sale(ctx, before.ID)
	w.must(err)
	if sale.Version <= before.Version {
		return fmt.Sprintf("the sale is at version %d", sale.Version)
	}
	if n := w.count("SELECT COUNT(*) FROM stock_operations WHERE state = 'pending'"); n > 0 {
		return fmt.Sprintf("%d withdrawals are pending", n)
	}
	fields, err := w.redis.HMGet(ctx, kit.SaleKey(&sale), "version", "paused", "closes", "cap", "added").Result()
	paused := 0
	if sale.Paused {
		paused = 1
	}
	want := fmt.Sprint([]any{sale.Version, paused, int64(sale.ClosesAt), sale.Cap, sale.Added})
	if got := fmt.Sprint(fields); err != nil || got != want {
		return fmt.Sprintf("Redis has %s, the database %s, %v", got, want, err)
	}
	return ""
}

// buysOverHTTP returns "" when the node rejects buys over HTTP, and otherwise its response.
func (w *world) buysOverHTTP(n *node) string {
	w.t.Helper()
	nothing := deed{
		http.MethodPost, "/api/v1/sales/" + w.sales[0].ID.String() + "/buy",
		map[string]any{"qty": 0, "key": "switched-off"},
		nil,
	}
	status, answer, err := w.call(n, w.token(kit.NewID(), shop.Shopper), "", nothing)
	if err == nil && strings.Contains(string(answer), "over HTTP") {
		return ""
	}
	return fmt.Sprintf("a buy over HTTP got %d %s %v, want a rejection", status, answer, err)
}

// bannerMissing returns "" when a new connection receives the banner, and otherwise the problem.
func (w *world) bannerMissing(n *node, text string) string {
	w.t.Helper()
	var published atomic.Bool
	site := "http://" + n.addr
	dialer := wsclient.Dialer{Origin: site, OnFrame: func(f *wsclient.Frame) {
		if e, ok := f.Event.(*wsclient.NoticeEvent); ok && e.Text == text {
			published.Store(true)
		}
	}}
	s, err := dialer.Dial(w.t.Context(), site)
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	_, err = s.Hello(w.token(kit.NewID(), shop.Shopper), "")
	if err == nil {
		_, err = s.Orders(0) // the banner precedes this reply
	}
	if err != nil || !published.Load() {
		return fmt.Sprintf("a new connection did not receive the banner: %v", err)
	}
	return ""
}

// askAgain repeats the deed twice under its key. Both responses must be equal and must not add rows to the journal.
// Another deed under the key must be rejected, and `stampede journal verify` must succeed.
func (w *world) askAgain(n *node, who, key string, d deed) {
	w.t.Helper()
	journaled := w.count("SELECT COUNT(*) FROM journal")
	var decided [2]string
	for i := range decided {
		status, answer, err := w.call(n, who, key, d)
		if err != nil || status != http.StatusOK {
			w.t.Fatalf("the repeated operation got %d %s %v, want 200", status, answer, err)
		}
		decided[i] = decision(answer)
	}
	if decided[0] != decided[1] {
		w.t.Errorf("the first repeat returned %s, the second %s; want the same", decided[0], decided[1])
	}
	if n := w.count("SELECT COUNT(*) FROM journal"); n != journaled {
		w.t.Errorf("the journal has %d rows after the repeats, want %d", n, journaled)
	}
	other := deed{
		http.MethodPost, "/api/v1/operator/notice", map[string]any{"level": "warning", "text": "Something else."}, nil,
	}
	if status, answer, _ := w.call(n, who, key, other); status != http.StatusConflict ||
		!strings.Contains(string(answer), string(shop.DuplicateKey)) {
		w.t.Errorf("another operation under the same key got %d %s, want 409 duplicate_key", status, answer)
	}
	cmd := exec.CommandContext(kit.Context(w.t), binary, "journal", "verify")
	cmd.Env = append(os.Environ(), "STAMPEDE_URL=http://"+n.addr, "STAMPEDE_TOKEN="+who)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("stampede journal verify: %v\n%s", err, out)
	}
}

// decision returns a response without the counters that change while buyers buy.
func decision(answer []byte) string {
	var said map[string]any
	if err := json.Unmarshal(answer, &said); err != nil {
		return string(answer)
	}
	for _, moves := range []string{"stock", "held", "sold"} {
		delete(said, moves)
	}
	return fmt.Sprint(said)
}

// token issues a token for a user with this role.
func (w *world) token(user shop.ID, role shop.Role) string {
	w.t.Helper()
	issuer, err := account.NewIssuer([]byte(secret), nil)
	w.must(err)
	token, err := issuer.Issue(user, "Tester", role, time.Hour)
	w.must(err)
	return token
}

// call sends a deed to a node. It fails without a response. key is the idempotency key of an operation, or "".
func (w *world) call(n *node, token, key string, d deed) (status int, answer []byte, err error) {
	w.t.Helper()
	body, err := json.Marshal(d.body)
	w.must(err)
	ctx, cancel := context.WithTimeout(kit.Context(w.t), 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, d.method, "http://"+n.addr+d.path, bytes.NewReader(body))
	w.must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	reply, err := kit.HTTP.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	answer, err = io.ReadAll(reply.Body)
	return reply.StatusCode, answer, err
}
