package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/streams"
)

// P8: postings that the webhook's receiver rejects are quarantined. An operator sees them in the metrics and in the
// list, and sends them again after the receiver is fixed.
func TestOperatorResendsQuarantinedPostings(t *testing.T) {
	t.Parallel()
	var repaired atomic.Bool
	var received atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !repaired.Load() {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		received.Add(1)
	}))
	t.Cleanup(receiver.Close)
	s := newShop(t, "STAMPEDE_WEBHOOK_URL="+receiver.URL, "STAMPEDE_WEBHOOK_SECRET="+hookSecret)
	postings := make([]outbox.Message, 3)
	for i := range postings {
		postings[i] = outbox.Message{
			Order: kit.NewID(), Rev: 2, State: shop.Paid, Sale: kit.NewID(), User: kit.NewID(),
		}
	}
	n := s.start("STAMPEDE_ROLES=api,worker")
	s.appendPostings(postings...)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		_, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
		return strings.Contains(string(text), "\nstampede_postings_quarantined 3\n") &&
				strings.Contains(string(text), `stampede_webhook_deliveries_total{result="quarantined"} 3`),
			"the postings are not quarantined"
	})
	list := func() (quarantined []outbox.QuarantinedMessage) {
		t.Helper()
		out, code := n.run("backoffice", "parked", "list", "--json")
		if err := json.Unmarshal([]byte(out), &quarantined); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v:\n%s", code, err, out)
		}
		return quarantined
	}
	quarantined := list()
	if len(quarantined) != 3 || !strings.Contains(quarantined[0].Reason, "422 Unprocessable Entity") ||
		quarantined[0].Group != "webhook" {
		t.Fatalf("got quarantined postings %+v, want 3 of the webhook with status 422", quarantined)
	}
	repaired.Store(true)
	n.drainQuarantine("replay", []string{quarantined[0].ID, quarantined[1].ID}, "backoffice", "parked")
	kit.Eventually(t, waitTimeout, func() (bool, string) { return received.Load() == 2, "the postings are not sent again" })
	if left := list(); len(left) != 0 {
		t.Errorf("got remaining quarantined postings %+v, want none", left)
	}
}

// appendPostings appends postings. It retries until a worker allows it.
func (s *testShop) appendPostings(postings ...outbox.Message) {
	s.t.Helper()
	kit.Eventually(s.t, waitTimeout, func() (bool, string) {
		_, err := streams.NewPaidStream(s.redis).Append(kit.Context(s.t), 0, postings)
		return err == nil, fmt.Sprint(err)
	})
}

// drainQuarantine drops the first of three quarantined messages, sends the second again, then all remaining messages.
// It checks the exit codes of invalid calls.
func (n *node) drainQuarantine(again string, ids []string, command ...string) {
	n.t.Helper()
	for _, c := range []struct {
		code int
		args []string
	}{
		{2, []string{again}},
		{2, []string{again, "--all", ids[0]}},
		{1, []string{again, "1-1"}},
		{1, []string{"drop", "1-1"}},
		{0, []string{"drop", ids[0]}},
		{0, []string{again, ids[1]}},
		{0, []string{again, "--all"}},
	} {
		if out, code := n.run(slices.Concat(command, c.args)...); code != c.code {
			n.t.Errorf("%v: exit code %d, want %d:\n%s", c.args, code, c.code, out)
		}
	}
}
