package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// applyLimit limits the time until all nodes apply a change of the block list. A busy machine may exceed it, so the
// test uses the faster of two attempts for each kind of block.
const applyLimit = time.Second

// A blocked user, address or network loses its open sockets on two nodes within a second. Its requests and handshakes
// are rejected; other users are not affected. Requests and sockets work again after the block is removed.
func TestBlockTakesEffectOnAllNodes(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true")
	s.open(10, 1)
	nodes := []*node{startShipped(t, s.settings...), startShipped(t, s.settings...)}
	eve, ada := kit.NewID(), kit.NewID()
	kinds := []struct{ what, name, value, from string }{
		{"user", "--user", eve.String(), "127.0.0.1"},
		{"address", "--address", "127.0.7.9", "127.0.7.9"},
		{"network", "--network", "127.0.8.0/24", "127.0.8.77"},
	}
	delays := make(map[string][]time.Duration)
	for _, c := range slices.Repeat(kinds, 2) {
		t.Run(c.what, func(t *testing.T) {
			var blockedConns, otherConns []*wsclient.Conn
			for _, n := range nodes {
				blockedConns = append(blockedConns,
					(route{addr: n.addr}).newVisitor(t, c.from).openWithHello(t, token(t, eve)))
				otherConns = append(otherConns, (route{addr: n.addr}).newVisitor(t, "127.0.0.1").openWithHello(t, token(t, ada)))
			}
			out, code := s.run("block", "add", c.name, c.value, "--reason", "a test", "--json")
			var b store.Block
			if err := json.Unmarshal([]byte(out), &b); err != nil || code != 0 {
				t.Fatalf("block add exits %d, %v:\n%s", code, err, out)
			}
			began := time.Now() // the command has committed
			for _, conn := range blockedConns {
				select {
				case <-conn.Done():
				case <-time.After(waitTimeout):
					t.Fatal("a socket of a blocked user is still open")
				}
				if wsclient.CloseCode(conn.Err()) != 4507 {
					t.Errorf("closed with %v, want 4507", conn.Err())
				}
			}
			waited := time.Since(began)
			t.Logf("the last socket was closed after %v", waited)
			delays[c.what] = append(delays[c.what], waited)
			for i, n := range nodes {
				v := (route{addr: n.addr}).newVisitor(t, c.from)
				if a, err := v.request(kit.Context(t), http.MethodGet, "/api/v1/orders", token(t, eve)); err == nil &&
					a.code != http.StatusForbidden {
					t.Errorf("the orders of the blocked user: got %d %s, want 403", a.code, a.text)
				}
				if _, err := otherConns[i].Time("1"); err != nil {
					t.Errorf("the socket of another user failed: %v", err)
				}
			}
			if out, code := s.run("block", "remove", strconv.FormatInt(b.ID, 10)); code != 0 {
				t.Fatalf("block remove exits %d:\n%s", code, out)
			}
			for _, n := range nodes {
				v := (route{addr: n.addr}).newVisitor(t, c.from)
				kit.Eventually(t, waitTimeout, func() (bool, string) {
					a, err := v.request(kit.Context(t), http.MethodGet, "/api/v1/orders", token(t, eve))
					return err == nil && a.code == http.StatusOK, "the user is still blocked"
				})
				v.openWithHello(t, token(t, eve))
			}
		})
	}
	for label, waited := range delays {
		if slices.Min(waited) > applyLimit {
			t.Errorf("%s: the last socket was closed after %v, want at most %v in one of the attempts", label, waited, applyLimit)
		}
	}
}
