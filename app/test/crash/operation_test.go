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

// operation is an operator's request to a node that dies while it handles the request.
type operation struct {
	method, path string
	body         map[string]any
	// missing returns the missing effect on a restarted node; "" when all effects are there.
	missing func(n *node) string
}

// dieDuringOperation runs an operation while buyers buy, and the node dies without a response. The next node completes
// the operation on its own. A repeat under the same key gets the response and has no second effect.
func dieDuringOperation(t *testing.T, flow, point string) {
	w := newWorld(t)
	w.twoSales()
	_, err := w.db.ExecContext(kit.Context(t), // operations accept only whole seconds
		"UPDATE sales SET opens_at = opens_at - opens_at % 1000, closes_at = closes_at - closes_at % 1000")
	w.must(err)
	w.addBuyers(6)
	victim := w.start(w.crashAt(point, 1))
	w.enter(victim)
	tr := w.trade(behaviour{cancelPercent: 25})
	w.awaitAccepted(5)
	d := w.operation(flow)
	operatorToken, key := w.token(kit.NewID(), shop.Operator), "act-lost-"+flow
	if status, response, err := w.call(victim, operatorToken, key, d); err == nil {
		t.Fatalf("got a response from a node that should have died: %d: %s", status, response)
	}
	victim.waitDeath(point)
	tr.end()
	next := w.start()
	w.reconnectAll(next)
	kit.Eventually(t, settleTimeout, func() (bool, string) {
		missing := d.missing(next)
		return missing == "", missing
	})
	w.repeatOperation(next, operatorToken, key, d)
	w.awaitRest(next, "")
}

// operation returns an operation of the flow. Operations on a sale change the sale with more units.
func (w *world) operation(flow string) operation {
	w.t.Helper()
	sale, err := w.store.Sales().Sale(kit.Context(w.t), w.sales[0].ID)
	w.must(err)
	on := "/api/v1/operator/sales/" + sale.ID.String()
	decided := func(*node) string { return w.missingEffect(&sale) }
	version := map[string]any{"version": sale.Version}
	switch flow {
	case "act":
		version["units"] = 7
		path := []string{on + "/pause", on + "/end", on + "/stock"}[w.rng.IntN(3)]
		if !strings.HasSuffix(path, "/stock") {
			delete(version, "units")
		}
		return operation{http.MethodPost, path, version, decided}
	case "edit":
		version["cap"] = 9_000
		return operation{http.MethodPatch, on, version, decided}
	case "withdraw":
		version["units"] = -7
		return operation{http.MethodPost, on + "/stock", version, decided}
	case "switch":
		body := map[string]any{"version": 0, "http_buy": false}
		return operation{http.MethodPatch, "/api/v1/operator/switches", body, w.httpBuyProblem}
	case "notice":
		body := map[string]any{"level": "info", "text": "More at noon."}
		return operation{http.MethodPost, "/api/v1/operator/notice", body, func(n *node) string {
			return w.bannerProblem(n, "More at noon.")
		}}
	default:
		user := kit.NewID()
		body := map[string]any{"kind": "user", "value": user.String()}
		return operation{http.MethodPost, "/api/v1/operator/blocks", body, func(n *node) string {
			readOrders := operation{http.MethodGet, "/api/v1/orders", nil, nil}
			status, response, err := w.call(n, w.token(user, shop.Shopper), "", readOrders)
			if status == http.StatusForbidden {
				return ""
			}
			return fmt.Sprintf("a blocked user got %d %s %v, want 403", status, response, err)
		}}
	}
}

// missingEffect returns the part of an operation on a sale that is missing in Redis; "" when Redis has all of it.
// before is the sale before the operation.
func (w *world) missingEffect(before *shop.Sale) string {
	w.t.Helper()
	ctx := kit.Context(w.t)
	sale, err := w.store.Sales().Sale(ctx, before.ID)
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

// httpBuyProblem returns "" when the node rejects buys over HTTP, and otherwise its response.
func (w *world) httpBuyProblem(n *node) string {
	w.t.Helper()
	emptyBuy := operation{
		http.MethodPost, "/api/v1/sales/" + w.sales[0].ID.String() + "/buy",
		map[string]any{"qty": 0, "key": "switched-off"},
		nil,
	}
	status, response, err := w.call(n, w.token(kit.NewID(), shop.Shopper), "", emptyBuy)
	if err == nil && strings.Contains(string(response), "over HTTP") {
		return ""
	}
	return fmt.Sprintf("a buy over HTTP got %d %s %v, want a rejection", status, response, err)
}

// bannerProblem returns "" when a new connection receives the banner, and otherwise the problem.
func (w *world) bannerProblem(n *node, text string) string {
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

// repeatOperation repeats the operation twice under its key. Both responses must be equal, and the repeats must not add
// rows to the journal. Another operation under the key must be rejected, and `stampede journal verify` must succeed.
func (w *world) repeatOperation(n *node, token, key string, d operation) {
	w.t.Helper()
	journalRows := w.count("SELECT COUNT(*) FROM journal")
	var decided [2]string
	for i := range decided {
		status, response, err := w.call(n, token, key, d)
		if err != nil || status != http.StatusOK {
			w.t.Fatalf("the repeated operation got %d %s %v, want 200", status, response, err)
		}
		decided[i] = stableFields(response)
	}
	if decided[0] != decided[1] {
		w.t.Errorf("the first repeat returned %s, the second %s; want the same", decided[0], decided[1])
	}
	if n := w.count("SELECT COUNT(*) FROM journal"); n != journalRows {
		w.t.Errorf("the journal has %d rows after the repeats, want %d", n, journalRows)
	}
	other := operation{
		http.MethodPost, "/api/v1/operator/notice", map[string]any{"level": "warning", "text": "Something else."}, nil,
	}
	if status, response, _ := w.call(n, token, key, other); status != http.StatusConflict ||
		!strings.Contains(string(response), string(shop.DuplicateKey)) {
		w.t.Errorf("another operation under the same key got %d %s, want 409 duplicate_key", status, response)
	}
	cmd := exec.CommandContext(kit.Context(w.t), binary, "journal", "verify")
	cmd.Env = append(os.Environ(), "STAMPEDE_URL=http://"+n.addr, "STAMPEDE_TOKEN="+token)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("stampede journal verify: %v\n%s", err, out)
	}
}

// stableFields returns a response without the counters that change while buyers buy.
func stableFields(response []byte) string {
	var parsed map[string]any
	if err := json.Unmarshal(response, &parsed); err != nil {
		return string(response)
	}
	for _, counter := range []string{"stock", "held", "sold"} {
		delete(parsed, counter)
	}
	return fmt.Sprint(parsed)
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

// call sends an operation to a node. It returns an error if there is no response. key is the idempotency key of an
// operation, or "".
func (w *world) call(n *node, token, key string, d operation) (status int, response []byte, err error) {
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
	response, err = io.ReadAll(reply.Body)
	return reply.StatusCode, response, err
}
