package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/test/kit/contract"
)

// operatorOperations returns all operations of openapi.yaml that are for operators.
func operatorOperations(t *testing.T) (ops []operation) {
	t.Helper()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(op.Tags, "Operators") != strings.HasPrefix(path, apiPath+"/operator/") {
				t.Errorf("%s %s: tags %v; want the tag Operators on exactly the paths under /operator", method, path, op.Tags)
			}
			if strings.HasPrefix(path, apiPath+"/operator/") {
				body, err := contract.Sample(op)
				if err != nil {
					t.Fatal(err)
				}
				ops = append(ops, operation{op, method, pathParameter.ReplaceAllString(path, "7"), body})
			}
		}
	}
	return ops
}

// pathParameter matches one parameter of a path.
var pathParameter = regexp.MustCompile(`\{[a-z]+\}`)

type operation struct {
	*openapi3.Operation
	method, path, body string
}

// TestOperatorRoutesRejectOtherUsers: every operator route in openapi.yaml rejects all other users before it calls a
// service. Routes for admins also reject operators. There is no service, so a call would panic.
func TestOperatorRoutesRejectOtherUsers(t *testing.T) {
	t.Parallel()
	ops := operatorOperations(t)
	s := open(t, nil)
	if len(ops) < 9 {
		t.Fatalf("openapi.yaml has %d operator operations, want at least 9", len(ops))
	}
	for _, op := range ops {
		wantStatus := func(who string, code int, headers ...string) {
			t.Helper()
			got := s.request(op.method, op.path, op.body, append(headers, operationKey, "act-0001")...)
			if got.code != code {
				t.Errorf("%s %s with %s: got %d %s, want %d", op.method, op.path, who, got.code, got.body, code)
			}
		}
		wantStatus("no token", http.StatusUnauthorized)
		wantStatus("an invalid token", http.StatusUnauthorized, "Authorization", "Bearer x")
		wantStatus("another scheme", http.StatusUnauthorized, "Authorization", "Basic user-1")
		wantStatus("a cookie", http.StatusUnauthorized, "Cookie", refreshCookie+"=user-1")
		wantStatus("the token of a shopper", http.StatusForbidden, "Authorization", "Bearer user-42")
		if op.Extensions["x-role"] == "admin" {
			wantStatus("the token of an operator", http.StatusForbidden, "Authorization", "Bearer user-1")
		}
	}
}

// TestOperationsRequireIdempotencyKey: every operator route that changes something requires an Idempotency-Key, also in
// openapi.yaml. Without a valid key it calls no service.
func TestOperationsRequireIdempotencyKey(t *testing.T) {
	t.Parallel()
	ops := operatorOperations(t)
	s := open(t, nil)
	for _, op := range ops {
		if op.method == http.MethodGet {
			continue
		}
		if p := op.Parameters.GetByInAndName("header", operationKey); p == nil || !p.Required {
			t.Errorf("%s %s: openapi.yaml does not require %s", op.method, op.path, operationKey)
		}
		for _, key := range []string{"", "short", strings.Repeat("x", 65), "with space", "with.dot.", "schlüssel"} {
			got := s.request(op.method, op.path, op.body, "Authorization", "Bearer user-2", operationKey, key)
			if got.code != http.StatusBadRequest || !strings.Contains(got.body, operationKey) {
				t.Errorf("%s %s with key %q: got %d %s, want 400 with %s", op.method, op.path, key, got.code, got.body, operationKey)
			}
		}
	}
}

// The journal contains the actor, the address, the key and the hash of the request. Different requests have different
// hashes.
func TestJournalEntryNamesActorAndRequest(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, nil)
	const path, body = "/api/v1/operator/categories", `{"name":"Pots","note":"n"}`
	s.want(s.request("POST", path, body, append(asAda, "X-Request-Id", "r-1")...), 200, "")
	got := w.lastEntry()
	if len(got.RequestHash) != 64 {
		t.Errorf("got the request hash %q, want 64 digits", got.RequestHash)
	}
	got.Seq, got.At, got.Object, got.Before, got.After, got.Result = 0, 0, "", nil, nil, nil
	got.PrevHash, got.Hash, got.RequestHash = "", "", ""
	want := journal.Entry{
		ActorID: 1, ActorName: "Ada", Role: shop.Operator, Via: journal.ViaHTTP, Source: "127.0.0.1", Request: "r-1",
		Key: "act-0001", Kind: "category.create", Note: "n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("journal entry (-want +got):\n%s", diff)
	}
	s.want(s.request("POST", path, body, asAda...), 200, "") // the same request: the operation is performed once
	for _, other := range [][2]string{
		{path, `{"name":"Pots","note":"m"}`},
		{path, `{"name":"Pots"}`},
		{path + "?a=b", body},
		{"/api/v1/operator/products", `{"name":"Pots","list_price_fen":1}`},
	} {
		s.want(s.request("POST", other[0], other[1], asAda...), 409, "duplicate_key")
	}
	if again := w.lastEntry(); again.Key != "act-0001" || again.Kind != "category.create" {
		t.Errorf("got the last entry %+v, want no new entry", again)
	}
}

// lastEntry returns the newest entry of the journal.
func (w *world) lastEntry() journal.Entry {
	w.t.Helper()
	entries, _, err := w.db.Journal().ListJournal(w.ctx, journal.Query{Limit: 1})
	w.must(err)
	if len(entries) == 0 {
		return journal.Entry{}
	}
	return entries[0]
}

// Operations that grant rights or cannot be reversed require an admin. An operator is rejected before the operation.
func TestAdminRoutesRejectOperators(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, nil)
	for _, op := range []struct{ path, body, kind string }{
		{"users/7/role", `{"role":"operator"}`, "user.role"},
		{"users/7/revoke", "", "user.revoke"},
		{"users/7/delete", "", "user.delete"},
	} {
		path, before := "/api/v1/operator/"+op.path, w.lastEntry()
		s.want(s.request("POST", path, op.body, asAda...), 403, "forbidden")
		if diff := cmp.Diff(before, w.lastEntry()); diff != "" {
			t.Errorf("%s: a rejected operator changed the journal (-before +after):\n%s", path, diff)
		}
		asEve := []string{"Authorization", "Bearer user-2", operationKey, "act-of-" + strings.ReplaceAll(op.kind, ".", "-")}
		s.want(s.request("POST", path, op.body, asEve...), 200, "")
		if got := w.lastEntry(); got.ActorID != 2 || got.Kind != op.kind {
			t.Errorf("%s: got the last entry %+v, want %s by user 2", path, got, op.kind)
		}
	}
	s.want(s.request("POST", "/api/v1/operator/backoffice/repost", "{}", asAda...), 400, "since")
	s.want(s.request("GET", "/api/v1/operator/payments/reconciliation?day=x", "", asAda...), 400, "day")
	s.want(s.request("GET", "/api/v1/operator/users?role=king", "", asAda...), 400, "role")
}
