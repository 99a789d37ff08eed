package e2e

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

const (
	accountPassword = "seven green 马 dance"
	// signedOut is the close code of a socket whose token was revoked.
	signedOut = 4506
)

// captcha requests a picture and returns its solution.
func (s *testShop) captcha(n *node) account.CaptchaSolution {
	s.t.Helper()
	var picture account.CaptchaPicture
	n.expect(http.StatusOK, &picture, n.read, "/api/v1/auth/captcha", "", nil)
	if !strings.HasPrefix(picture.Image, "data:image/png;base64,") {
		s.t.Fatalf("captcha %s is not a PNG data URL", picture.ID)
	}
	solution, err := s.readPicture(picture.ID)
	s.must(err)
	return account.CaptchaSolution{ID: picture.ID, Answer: solution}
}

var linkInMail = regexp.MustCompile(`/#(activate|reset)=([A-Za-z0-9_-]{43})`)

// linkIn waits for an e-mail to the address, in the folder, that has a link of the kind. It returns the link's token.
func linkIn(t *testing.T, folder, email, kind string) (token string) {
	t.Helper()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		files, _ := filepath.Glob(filepath.Join(folder, "*.eml"))
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				return false, err.Error()
			}
			text, err := io.ReadAll(quotedprintable.NewReader(f))
			_ = f.Close()
			found := linkInMail.FindSubmatch(text)
			if err == nil && found != nil && string(found[1]) == kind && strings.Contains(string(text), email) {
				token = string(found[2])
			}
		}
		return token != "", fmt.Sprintf("got %d mails, want one with the link", len(files))
	})
	return token
}

// becomeAccount registers an account, with a guest's token if given, and opens the activation link in the e-mail.
func (s *testShop) becomeAccount(n *node, folder, guest string) (email string) {
	s.t.Helper()
	email = kit.NewID().String() + "@shop.example"
	n.expect(http.StatusAccepted, nil, n.post, "/api/v1/auth/register", guest, map[string]any{
		"email": email, "password": accountPassword, "lang": "zh", "captcha": s.captcha(n),
	})
	activation := map[string]any{"token": linkIn(s.t, folder, email, "activate"), "password": accountPassword}
	n.expect(http.StatusOK, nil, n.post, "/api/v1/auth/activate", "", activation)
	return email
}

// A guest with an order registers, opens the link in the e-mail and logs in. Both nodes show the order. The tokens are
// refreshed and the socket stays open. A logout everywhere, by another device on the other node, closes all sockets of
// the account.
func TestGuestBecomesAccountAndKeepsOrders(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", "STAMPEDE_DATA="+data)
	sale := s.open(5, 2)
	n, other := s.start(), s.start()
	var guest account.Session
	n.expect(http.StatusOK, &guest, n.post, "/api/v1/auth/guest", "", nil)
	placed := n.buyPending(sale, guest.Access, 1)

	email := s.becomeAccount(n, filepath.Join(data, "mail"), guest.Access)
	asGuest := dial(t, n)
	if _, err := asGuest.Hello(guest.Access, ""); err != nil {
		t.Fatal(err)
	}
	staying := dial(t, n)
	if _, err := staying.Hello(guest.Access, ""); err != nil {
		t.Fatal(err)
	}
	phone := n.logInAs(guest.Access, email, accountPassword)
	if phone.User.ID != guest.User.ID || phone.User.Email != email {
		t.Errorf("logged in as %+v, want %+v", phone.User, guest.User)
	}
	if _, err := staying.Renew(phone.Access); err != nil {
		t.Errorf("renew with the account's token: %v", err)
	}
	for _, at := range []*node{n, other} {
		var orders struct{ Orders []shop.Order }
		at.expect(http.StatusOK, &orders, at.read, "/api/v1/orders", phone.Access, nil)
		if len(orders.Orders) != 1 || orders.Orders[0].ID != placed.ID {
			t.Errorf("orders of the account: %+v, want %s", orders.Orders, placed.ID)
		}
	}
	wantSignedOut(t, asGuest.Conn)

	var refreshed account.Session
	n.expect(http.StatusOK, &refreshed, n.post, "/api/v1/auth/refresh", "", map[string]any{"refresh": phone.Refresh})
	var again account.Session // as after a lost reply
	other.expect(http.StatusOK, &again, other.post, "/api/v1/auth/refresh", "", map[string]any{"refresh": phone.Refresh})
	if refreshed.Refresh == phone.Refresh || again.Refresh != refreshed.Refresh {
		t.Errorf("refreshed %s to %s and %s", phone.Refresh, refreshed.Refresh, again.Refresh)
	}
	if _, err := staying.Renew(refreshed.Access); err != nil {
		t.Errorf("renew with the refreshed token: %v", err)
	}
	tablet := other.logIn(email, accountPassword)
	onOther := dial(t, other)
	if _, err := onOther.Hello(tablet.Access, ""); err != nil {
		t.Fatal(err)
	}
	other.expect(http.StatusOK, nil, other.post, "/api/v1/auth/logout", tablet.Access, map[string]any{"everywhere": true})
	wantSignedOut(t, staying.Conn, onOther.Conn)
	for _, at := range []*node{n, other} {
		for _, access := range []string{guest.Access, phone.Access, refreshed.Access, tablet.Access} {
			at.expect(http.StatusUnauthorized, nil, at.read, "/api/v1/orders", access, nil)
		}
		for _, refresh := range []string{phone.Refresh, refreshed.Refresh, tablet.Refresh} {
			at.expect(http.StatusUnauthorized, nil, at.post, "/api/v1/auth/refresh", "", map[string]any{"refresh": refresh})
		}
	}
	for _, secret := range []string{email, accountPassword, phone.Refresh, refreshed.Access} {
		if strings.Contains(n.Text()+other.Text(), secret) {
			t.Error("an e-mail, a password or a token is in the log")
		}
	}
	s.awaitDrained(sale)
	s.audit(sale)
}

// wantSignedOut waits until the sockets are closed because their token was revoked, and logs the duration.
func wantSignedOut(t *testing.T, conns ...*wsclient.Conn) {
	t.Helper()
	began := time.Now()
	for _, conn := range conns {
		select {
		case <-conn.Done():
		case <-time.After(waitTimeout):
			t.Fatal("a socket with a revoked token is still open")
		}
		if code := wsclient.CloseCode(conn.Err()); code != signedOut {
			t.Errorf("closed with %d, want %d: %v", code, signedOut, conn.Err())
		}
	}
	t.Logf("%d sockets were closed after %v", len(conns), time.Since(began))
}

// The signing key is rotated while nodes run. Existing tokens stay valid, and all nodes accept tokens of the new key.
// With --now, tokens of older keys are rejected, their sockets are closed, and accounts refresh.
func TestSigningKeyIsRotatedWhileNodesRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", "STAMPEDE_DATA="+data, "STAMPEDE_JWT_SECRET="+secret)
	n, other := s.start(), s.start()
	session := n.logIn(s.becomeAccount(n, filepath.Join(data, "mail"), ""), accountPassword)
	if out, code := s.run("token", "rotate"); code != 0 {
		t.Fatalf("token rotate exits %d:\n%s", code, out)
	}
	if out, code := s.run("token", "rotate"); code == 0 || !strings.Contains(out, "--now") {
		t.Errorf("a second rotation exits %d, want an error that names --now:\n%s", code, out)
	}
	signed, code := s.run("token", "--user", "77")
	if code != 0 {
		t.Fatalf("token exits %d:\n%s", code, signed)
	}
	for _, at := range []*node{n, other} {
		for _, access := range []string{session.Access, strings.TrimSpace(signed)} {
			at.expect(http.StatusOK, nil, at.read, "/api/v1/me", access, nil)
		}
	}
	socket := dial(t, other)
	if _, err := socket.Hello(session.Access, ""); err != nil {
		t.Fatal(err)
	}
	if out, code := s.run("token", "rotate", "--now"); code != 0 {
		t.Fatalf("token rotate --now exits %d:\n%s", code, out)
	}
	wantSignedOut(t, socket.Conn)
	for _, at := range []*node{n, other} {
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			code, text := at.get("/api/v1/me", session.Access)
			return code == http.StatusUnauthorized, string(text)
		})
	}
	var next account.Session
	n.expect(http.StatusOK, &next, n.post, "/api/v1/auth/refresh", "", map[string]any{"refresh": session.Refresh})
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		code, text := other.get("/api/v1/me", next.Access)
		return code == http.StatusOK, string(text)
	})
}
