package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"stampede/app/account"
	"stampede/app/order"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// addUser creates an account as an operator does, with a password on standard input.
func (s *testShop) addUser(email, password string, flags ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(kit.Context(s.t), binary, append([]string{"user", "add", email, "--password"}, flags...)...)
	cmd.Env = append(cmd.Environ(), append(s.settings, "STAMPEDE_JWT_SECRET="+secret)...)
	cmd.Stdin = strings.NewReader(password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// A node of an empty shop logs the console's address and the command for the first admin.
func TestEmptyShopNamesItsFirstAdmin(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PUBLIC_URL=https://shop.example")
	const hint = "stampede user add EMAIL --role admin"
	n := s.start()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		text := n.Text()
		return strings.Contains(text, hint) && strings.Contains(text, "https://shop.example/console"), text
	})
	s.addUser("ada@shop.example", "a pony in the rain", "--role", "admin")
	later := s.start()
	later.stop() // flushes its log
	if text := later.Text(); strings.Contains(text, hint) {
		t.Errorf("a node of a shop with an admin logs the hint\n%s", text)
	}
}

// logIn logs in to an account as an app does.
func (n *node) logIn(email, password string) account.Session {
	n.t.Helper()
	return n.logInAs("", email, password)
}

// logInAs is logIn with the token of a guest.
func (n *node) logInAs(guest, email, password string) account.Session {
	n.t.Helper()
	code, body := n.postRetrying("/api/v1/auth/login", guest, map[string]string{"email": email, "password": password, "client": "app"})
	var session account.Session
	if err := json.Unmarshal(body, &session); err != nil || code != http.StatusOK {
		n.t.Fatalf("log in: %d %s", code, body)
	}
	return session
}

// An account and a guest store addresses, export their data and delete the account. Tokens are revoked. Finished orders
// lose their address; open orders keep it.
func TestPersonalDataIsExportedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true")
	const email, password = "ada@shop.example", "a pony in the rain"
	s.addUser(email, password, "--role", "admin")
	s.addUser("bea@shop.example", password, "--role", "admin") // the last admin cannot be deleted
	sale := s.open(5, 2)
	n := s.start()
	session := n.logIn(email, password)
	if session.User.Role != shop.Admin {
		t.Errorf("got user %+v, want role admin", session.User)
	}
	var all sync.WaitGroup // not t.Parallel: both subtests wait for the next run of the eraser
	for name, who := range map[string]struct {
		id              shop.ID
		token, password string
	}{"account": {session.User.ID, session.Access, password}, "guest": {4242, token(t, 4242), ""}} {
		all.Go(func() {
			t.Run(name, func(t *testing.T) {
				n.withTest(t).deleteUserData(s.withTest(t), sale, who.id, who.token, who.password)
			})
		})
	}
	all.Wait()
	if code, body := n.post("/api/v1/auth/refresh", "", map[string]string{"refresh": session.Refresh}); code != http.StatusUnauthorized {
		t.Errorf("the refresh token is still valid: got %d %s, want 401", code, body)
	}
	s.audit(sale)
}

// deleteUserData stores an address, buys twice, cancels one order, then exports and deletes the data of a user. A guest
// has no password.
func (n *node) deleteUserData(s *testShop, sale shop.Sale, user shop.ID, token, password string) {
	n.t.Helper()
	address := map[string]any{"name": "李雷", "phone": "13800000000", "text": "北京市海淀区 1 号"}
	n.expect(http.StatusOK, nil, n.post, "/api/v1/me/addresses", token, address)
	var orders []shop.ID
	for _, key := range []string{"key-0001", "key-0002"} {
		var bought order.Receipt
		n.expect(http.StatusOK, &bought, n.post, "/api/v1/sales/"+sale.ID.String()+"/buy", token,
			map[string]any{"qty": 1, "key": key, "address": address})
		orders = append(orders, bought.Order)
	}
	s.awaitDrained(sale)
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+orders[0].String()+"/cancel", token, nil)
	var copied privacy.Export
	n.expect(http.StatusOK, &copied, n.read, "/api/v1/me/export", token, nil)
	if len(copied.Orders) != 2 || len(copied.Addresses) != 1 || copied.User.ID != user {
		n.t.Errorf("got export %+v, want 2 orders and 1 address of user %s", copied, user)
	}
	const erase = "/api/v1/me/delete"
	if password != "" {
		n.expect(http.StatusForbidden, nil, n.postRetrying, erase, token, map[string]string{"password": "not it at all"})
	}
	n.expect(http.StatusOK, nil, n.postRetrying, erase, token, map[string]string{"password": password})
	kit.Eventually(n.t, waitTimeout, func() (bool, string) {
		code, body := n.get("/api/v1/me/addresses", token)
		return code == http.StatusUnauthorized, string(body)
	})
	if left := s.count("SELECT COUNT(*) FROM addresses WHERE user_id = ?", user); left != 0 {
		n.t.Errorf("%d addresses are left, want 0", left)
	}
	kit.Eventually(n.t, waitTimeout, func() (bool, string) {
		return s.count("SELECT COUNT(*) FROM orders WHERE user_id = ? AND address IS NOT NULL", user) == 1,
			"the cancelled order still has its address"
	})
	if kept := s.count("SELECT COUNT(*) FROM orders WHERE id = ? AND address IS NOT NULL", orders[1]); kept != 1 {
		n.t.Error("the active order has lost its address")
	}
}
