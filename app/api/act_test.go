package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/test/kit/contract"
)

// operatorsOf are all operations that openapi.yaml has for operators.
func operatorsOf(t *testing.T) (ops []operation) {
	t.Helper()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(op.Tags, "Operators") != strings.HasPrefix(path, apiPath+"/operator/") {
				t.Errorf("%s %s: what is under /operator has the tag Operators, and nothing else", method, path)
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

// pathParameter is one in a path.
var pathParameter = regexp.MustCompile(`\{[a-z]+\}`)

type operation struct {
	*openapi3.Operation
	method, path, body string
}

// TestOperatorsRoutesAreForOperators: every route that openapi.yaml has for operators refuses whoever is not one,
// before it does anything, and what is for admins refuses operators.
func TestOperatorsRoutesAreForOperators(t *testing.T) {
	t.Parallel()
	ops := operatorsOf(t)
	s := open(t, nil)
	if len(ops) < 9 {
		t.Fatalf("only %d operations", len(ops))
	}
	for _, op := range ops {
		refuses := func(who string, code int, headers ...string) {
			t.Helper()
			got := s.ask(op.method, op.path, op.body, append(headers, actKey, "act-0001")...)
			if got.code != code {
				t.Errorf("%s %s for %s: %d %s", op.method, op.path, who, got.code, got.body)
			}
		}
		refuses("nobody", http.StatusUnauthorized)
		refuses("a token that is none", http.StatusUnauthorized, "Authorization", "Bearer x")
		refuses("another scheme", http.StatusUnauthorized, "Authorization", "Basic user-1")
		refuses("a cookie", http.StatusUnauthorized, "Cookie", refreshCookie+"=user-1")
		refuses("a shopper", http.StatusForbidden, "Authorization", "Bearer user-42")
		if op.Extensions["x-role"] == "admin" {
			refuses("an operator", http.StatusForbidden, "Authorization", "Bearer user-1")
		}
	}
	if s.shop.actor.Load() != nil {
		t.Error("somebody acted")
	}
}

// TestActsNeedAKey: every route with which an operator changes something asks for an Idempotency-Key, says so, and does
// nothing without a good one.
func TestActsNeedAKey(t *testing.T) {
	t.Parallel()
	ops := operatorsOf(t)
	s := open(t, nil)
	for _, op := range ops {
		if op.method == http.MethodGet {
			continue
		}
		if p := op.Parameters.GetByInAndName("header", actKey); p == nil || !p.Required {
			t.Errorf("%s %s: openapi.yaml does not ask for %s", op.method, op.path, actKey)
		}
		for _, key := range []string{"", "short", strings.Repeat("x", 65), "with space", "with.dot.", "schlüssel"} {
			got := s.ask(op.method, op.path, op.body, "Authorization", "Bearer user-2", actKey, key)
			if got.code != http.StatusBadRequest || !strings.Contains(got.body, actKey) {
				t.Errorf("%s %s with key %q: %d %s", op.method, op.path, key, got.code, got.body)
			}
		}
	}
	if s.shop.actor.Load() != nil {
		t.Error("somebody acted")
	}
}

// Who acts, from where, under which key and for which request is passed on; the hash tells requests apart.
func TestActorIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const path = "/api/v1/operator/refunds/7/approve"
	acted := func(path, body string) journal.Actor {
		t.Helper()
		s.want(s.ask("POST", path, body, append(asAda, "X-Request-Id", "r-1")...), 200, "")
		return *s.shop.actor.Load()
	}
	first := acted(path, `{"note":"n"}`)
	want := journal.Actor{
		User: 1, Name: "Ada", Role: shop.Operator, Via: journal.ViaHTTP, From: "127.0.0.1", Request: "r-1", Key: "act-0001",
		Hash: first.Hash, Note: "n",
	}
	if first != want || len(first.Hash) != 64 {
		t.Errorf("acted as %+v", first)
	}
	if again := acted(path, `{"note":"n"}`); again.Hash != first.Hash {
		t.Error("the same request has another hash")
	}
	for _, other := range [][2]string{
		{path, `{"note":"m"}`},
		{path, ""},
		{path + "?a=b", `{"note":"n"}`},
		{"/api/v1/operator/refunds/8/approve", `{"note":"n"}`},
		{"/api/v1/operator/refunds/7/decline", `{"note":"n"}`},
	} {
		if acted(other[0], other[1]).Hash == first.Hash {
			t.Errorf("%s with %s has the same hash", other[0], other[1])
		}
	}
}

// Operations that grant rights or cannot be reversed require an admin. An operator is rejected before the operation.
func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	asEve := []string{"Authorization", "Bearer user-2", actKey, "act-0002"}
	for path, body := range map[string]string{
		"users/7/role": `{"role":"admin"}`, "users/7/revoke": "", "users/7/delete": "", "archive/drop": `{"before":"2026-01"}`,
	} {
		path = "/api/v1/operator/" + path
		s.shop.actor.Store(nil)
		s.want(s.ask("POST", path, body, asAda...), 403, "forbidden")
		if s.shop.actor.Load() != nil {
			t.Errorf("%s: an operator acted", path)
		}
		s.want(s.ask("POST", path, body, asEve...), 200, "")
		if actor := s.shop.actor.Load(); actor == nil || actor.User != 2 {
			t.Errorf("%s: %+v acted", path, actor)
		}
	}
	s.want(s.ask("POST", "/api/v1/operator/archive/drop", "{}", asEve...), 400, "before")
	s.want(s.ask("POST", "/api/v1/operator/backoffice/repost", "{}", asAda...), 400, "since")
	s.want(s.ask("GET", "/api/v1/operator/payments/reconciliation?day=x", "", asAda...), 400, "day")
	s.want(s.ask("GET", "/api/v1/operator/users?role=king", "", asAda...), 400, "role")
}
