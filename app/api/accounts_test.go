package api

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/limits"
	"stampede/app/shop"
)

// fakeAccounts takes one password and one refresh token, and remembers what it was asked.
type fakeAccounts struct {
	mu      sync.Mutex
	logIn   account.LogIn
	logOut  account.LogOut
	refresh string
	guest   shop.Identity
}

const (
	fakePassword = "seven green horses"
	fakeRefresh  = "7." + fakeLink
	fakeLink     = "Zm9yIGV4YW1wbGUgb25seSwgMzIgcmFuZG9tIGJ5dGU"
)

func (f *fakeAccounts) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeAccounts) session() account.Session {
	return account.Session{Access: "user-42", Expires: 1_700_000_900_000, Refresh: "7.next", User: account.SessionUser{
		ID: 42, Name: "Ada", Role: shop.Shopper, Email: "ada@shop.example",
	}}
}

func (f *fakeAccounts) Captcha(context.Context, admission.PictureAsker) (account.Picture, error) {
	return account.Picture{ID: "c", Image: "data:image/png;base64,AA==", Expires: 1_700_000_300_000}, nil
}

func (f *fakeAccounts) Register(_ context.Context, r account.Registration) error {
	f.note(func() { f.guest = r.Guest })
	return nil
}

func (f *fakeAccounts) Activate(_ context.Context, n account.Activation) (string, error) {
	if n.Token != fakeLink || n.Password != fakePassword {
		return "", shop.Fail(shop.NotFound, "no such link")
	}
	return "ada@shop.example", nil
}

func (f *fakeAccounts) Unregister(_ context.Context, token string) error {
	if token != fakeLink {
		return shop.Fail(shop.NotFound, "no such link")
	}
	return nil
}

func (f *fakeAccounts) LogIn(_ context.Context, l account.LogIn) (account.Session, error) {
	f.note(func() { f.logIn = l })
	if l.Password != fakePassword {
		return account.Session{}, shop.Fail(shop.Unauthorized, "the e-mail or the password is not right")
	}
	return f.session(), nil
}

func (f *fakeAccounts) Refresh(_ context.Context, token, _ string) (account.Session, error) {
	f.note(func() { f.refresh = token })
	if token != fakeRefresh {
		return account.Session{}, shop.Fail(shop.Unauthorized, "this log in does not count any more")
	}
	return f.session(), nil
}

func (f *fakeAccounts) LogOut(_ context.Context, o account.LogOut) error {
	f.note(func() { f.logOut = o })
	return nil
}

func (f *fakeAccounts) Forgot(context.Context, account.Forgotten) error  { return nil }
func (f *fakeAccounts) Reset(context.Context, account.NewPassword) error { return nil }
func (f *fakeAccounts) Me(_ context.Context, who shop.Identity) (account.Me, error) {
	return account.Me{ID: who.User, Name: "Ada", Role: who.Role, Guest: true}, nil
}

func (f *fakeAccounts) EditMe(_ context.Context, who shop.Identity, e account.MeEdit) (account.Me, error) {
	return account.Me{ID: who.User, Name: *e.Name, Role: who.Role, Email: "ada@shop.example", Lang: "en", CreatedAt: 1}, nil
}

func (f *fakeAccounts) ChangePassword(context.Context, shop.Identity, account.PasswordChange) error {
	return nil
}

func (f *fakeAccounts) MyDevices(context.Context, shop.Identity) ([]account.MyDevice, error) {
	return nil, nil
}

func (f *fakeAccounts) RemoveDevice(_ context.Context, _ shop.Identity, device shop.ID) error {
	if device != 7 {
		return shop.Fail(shop.NotFound, "no such device")
	}
	return nil
}

// cookie is the refresh cookie that an answer sets, as the browser reads it.
func (a answer) cookie() string { return a.header.Get("Set-Cookie") }

func openAccounts(t *testing.T) (*site, *fakeAccounts) {
	t.Helper()
	f := &fakeAccounts{}
	return open(t, func(o *Options) {
		o.Accounts = f
		o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}), f
}

// A browser gets its refresh token where no script reads it, an app in the answer, and neither gets both.
func TestLogInHandsTheRefreshTokenOver(t *testing.T) {
	t.Parallel()
	s, f := openAccounts(t)
	body := `{"email":"ada@shop.example","password":"` + fakePassword + `"`
	browser := s.ask("POST", "/api/v1/auth/login", body+`}`, "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0",
		"X-Real-IP", "2001:db8::1:2")
	s.want(browser, 200, `"access":"user-42","expires":1700000900000,"user":{"id":"42","name":"Ada","role":"shopper"`)
	for _, part := range []string{
		"stampede_refresh=7.next", "path=/api/v1/auth", "max-age=2592000", "HttpOnly", "SameSite=Strict",
	} {
		if !strings.Contains(browser.cookie(), part) {
			t.Errorf("the cookie %q lacks %s", browser.cookie(), part)
		}
	}
	if strings.Contains(browser.body, "7.next") || strings.Contains(browser.cookie(), "secure") {
		t.Errorf("%s, %q", browser.body, browser.cookie())
	}
	if f.logIn.Device != "Firefox, Linux" || f.logIn.Addr.String() != "2001:db8::1:2" {
		t.Errorf("logged in from %+v", f.logIn)
	}
	safe := s.ask("POST", "/api/v1/auth/login", body+`}`, "X-Forwarded-Proto", "https")
	if !strings.Contains(safe.cookie(), "secure") {
		t.Errorf("over https the cookie is %q", safe.cookie())
	}
	public := open(t, func(o *Options) { o.Accounts, o.Public = f, url.URL{Scheme: "https", Host: "shop.example"} })
	if plain := public.ask("POST", "/api/v1/auth/login", body+`}`); !strings.Contains(plain.cookie(), "secure") {
		t.Errorf("of a shop on https, behind a proxy that does not send X-Forwarded-Proto, the cookie is %q", plain.cookie())
	}
	app := s.ask("POST", "/api/v1/auth/login", body+`,"client":"app","device":"My phone"}`)
	s.want(app, 200, `"refresh":"7.next"`)
	if app.cookie() != "" || f.logIn.Device != "My phone" {
		t.Errorf("cookie %q, device %q", app.cookie(), f.logIn.Device)
	}
	s.want(s.ask("POST", "/api/v1/auth/login", body+`,"client":"browser"}`), 400, "bad_request")
	wrong := s.ask("POST", "/api/v1/auth/login", `{"email":"ada@shop.example","password":"x"}`)
	s.want(wrong, 401, "unauthorized")
	if wrong.cookie() != "" {
		t.Errorf("a failure sets %q", wrong.cookie())
	}
}

// The cookie works for pages of this shop alone: they can send a header of their own, and the browser says where they
// are from.
func TestRefreshByCookieNeedsOurPage(t *testing.T) {
	t.Parallel()
	s, f := openAccounts(t)
	const cookie = "stampede_refresh=" + fakeRefresh
	for _, path := range []string{"/api/v1/auth/refresh", "/api/v1/auth/logout"} {
		s.want(s.ask("POST", path, "", "Cookie", cookie), 403, "X-Stampede")
		s.want(s.ask("POST", path, "", "Cookie", cookie, "X-Stampede", "2"), 403, "X-Stampede")
		for _, site := range []string{"cross-site", "same-site", "anything"} {
			s.want(s.ask("POST", path, "", "Cookie", cookie, "X-Stampede", "1", "Sec-Fetch-Site", site), 403, "forbidden")
		}
		s.want(s.ask("POST", path, ""), 401, "unauthorized")
	}
	if f.refresh != "" || f.logOut.Refresh != "" {
		t.Errorf("asked for %q and %+v", f.refresh, f.logOut)
	}
	for _, site := range []string{"same-origin", "none", ""} {
		a := s.ask("POST", "/api/v1/auth/refresh", "", "Cookie", cookie, "X-Stampede", "1", "Sec-Fetch-Site", site)
		s.want(a, 200, `"access"`)
		if !strings.Contains(a.cookie(), "7.next") || strings.Contains(a.body, "7.next") {
			t.Errorf("%s, %q", a.body, a.cookie())
		}
	}
	ended := s.ask("POST", "/api/v1/auth/refresh", "", "Cookie", "stampede_refresh=9.x", "X-Stampede", "1")
	s.want(ended, 401, "unauthorized")
	if !strings.Contains(ended.cookie(), "stampede_refresh=;") {
		t.Errorf("a token of no use stays: %q", ended.cookie())
	}
	inBody := s.ask("POST", "/api/v1/auth/refresh", `{"refresh":"`+fakeRefresh+`"}`, "Cookie", "stampede_refresh=other")
	s.want(inBody, 200, `"refresh":"7.next"`)
	if inBody.cookie() != "" {
		t.Errorf("an app gets the cookie %q", inBody.cookie())
	}
	login := func(header, value string) answer {
		return s.ask("POST", "/api/v1/auth/login", `{"email":"a@b.co","password":"x"}`, header, value)
	}
	s.want(login("Sec-Fetch-Site", "cross-site"), 403, "forbidden")
	for origin, code := range map[string]int{"https://evil.example": 403, "null": 403, s.url: 401} {
		if a := login("Origin", origin); a.code != code {
			t.Errorf("a log in from %s: %d %s, want %d", origin, a.code, a.body, code)
		}
	}
}

func TestLogOutByWhateverThereIs(t *testing.T) {
	t.Parallel()
	s, f := openAccounts(t)
	out := s.ask("POST", "/api/v1/auth/logout", `{"everywhere":true}`, "Cookie", "stampede_refresh="+fakeRefresh, "X-Stampede", "1")
	s.want(out, 200, "{}")
	if f.logOut.Refresh != fakeRefresh || !f.logOut.Everywhere || !strings.Contains(out.cookie(), "stampede_refresh=;") {
		t.Errorf("%+v, %q", f.logOut, out.cookie())
	}
	s.want(s.ask("POST", "/api/v1/auth/logout", "", "Authorization", "Bearer user-42"), 200, "{}")
	if f.logOut.Who.User != 42 || f.logOut.Refresh != "" {
		t.Errorf("%+v", f.logOut)
	}
	s.want(s.ask("POST", "/api/v1/auth/logout", `{"refresh":"8.xyz"}`), 200, "{}")
	if f.logOut.Refresh != "8.xyz" {
		t.Errorf("%+v", f.logOut)
	}
	s.want(s.ask("POST", "/api/v1/auth/logout", "", "Authorization", "Bearer nonsense"), 401, "unauthorized")
	s.want(s.ask("POST", "/api/v1/auth/logout", `{"everywhere":"yes"}`), 400, "bad_request")
}

func TestAccountRoutes(t *testing.T) {
	t.Parallel()
	s, f := openAccounts(t)
	const as = "Authorization"
	registration := `{"email":"ada@shop.example","password":"` + fakePassword + `","captcha":{"id":"c","answer":"1"}}`
	s.want(s.ask("GET", "/api/v1/auth/captcha", ""), 200, `"image":"data:image/png`)
	s.want(s.ask("POST", "/api/v1/auth/register", registration, as, "Bearer user-42"), 202, "{}")
	if f.guest.User != 42 {
		t.Errorf("registered %+v", f.guest)
	}
	s.want(s.ask("POST", "/api/v1/auth/register", registration, as, "Bearer ended"), 401, "unauthorized")
	s.want(s.ask("POST", "/api/v1/auth/register", registration), 202, "{}")
	s.want(s.ask("POST", "/api/v1/auth/register", "nonsense"), 400, "bad_request")
	link := `{"token":"` + fakeLink + `","password":"` + fakePassword + `"}`
	s.want(s.ask("POST", "/api/v1/auth/activate", link), 200, `{"email":"ada@shop.example"}`)
	s.want(s.ask("POST", "/api/v1/auth/activate", `{"token":"bad"}`), 404, "not_found")
	s.want(s.ask("POST", "/api/v1/auth/unregister", `{"token":"`+fakeLink+`"}`), 200, "{}")
	s.want(s.ask("POST", "/api/v1/auth/unregister", `{"token":"bad"}`), 404, "not_found")
	for token, guest := range map[string]shop.ID{"user-42": 42, "ended": 0} {
		s.want(s.ask("POST", "/api/v1/auth/login", registration, as, "Bearer "+token), 200, "access")
		if f.logIn.Guest.User != guest {
			t.Errorf("a log in with the token %s: guest %d, want %d", token, f.logIn.Guest.User, guest)
		}
	}
	s.want(s.ask("POST", "/api/v1/auth/forgot", `{"email":"a@b.co","captcha":{"id":"c","answer":"1"}}`), 202, "{}")
	s.want(s.ask("POST", "/api/v1/auth/reset", `{"token":"t","password":"`+fakePassword+`"}`), 200, "{}")
	for _, route := range []string{
		"GET /api/v1/me", "PATCH /api/v1/me", "POST /api/v1/me/password", "GET /api/v1/me/devices", "DELETE /api/v1/me/devices/7",
	} {
		method, path, _ := strings.Cut(route, " ")
		s.want(s.ask(method, path, "{}"), 401, "unauthorized")
	}
	s.want(s.ask("GET", "/api/v1/me", "", as, "Bearer user-42"), 200, `"id":"42","name":"Ada","role":"shopper","guest":true}`)
	s.want(s.ask("PATCH", "/api/v1/me", `{"name":"Eve"}`, as, "Bearer user-42"), 200, `"name":"Eve"`)
	s.want(s.ask("POST", "/api/v1/me/password", `{"old":"a","new":"`+fakePassword+`"}`, as, "Bearer user-42"), 200, "{}")
	s.want(s.ask("GET", "/api/v1/me/devices", "", as, "Bearer user-42"), 200, `{"devices":[]}`)
	s.want(s.ask("DELETE", "/api/v1/me/devices/7", "", as, "Bearer user-42"), 200, "{}")
	s.want(s.ask("DELETE", "/api/v1/me/devices/8", "", as, "Bearer user-42"), 404, "not_found")
}

// Log ins of an address are counted like those of guests.
func TestAccountRoutesArePaced(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Accounts, o.Admit = &fakeAccounts{}, limits.NewLimiter(limits.Classes{
			limits.Auth: {Addr: limits.Pace{Rate: 1, Period: 1 << 40, Burst: 2}},
		}, nil).Take
	})
	s.want(s.ask("GET", "/api/v1/auth/captcha", ""), 200, "image")
	s.want(s.ask("POST", "/api/v1/auth/guest", ""), 200, "access")
	s.want(s.ask("POST", "/api/v1/auth/login", `{"email":"a@b.co","password":"x"}`), 429, "rate_limited")
}

func TestBrowserName(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"": "", "x": "", "curl/8.14": "curl",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0":         "Edge, Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15":         "Safari, Mac",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36 MicroMessenger/8.0.5": "WeChat, Android",
	} {
		if got := browserName(agent); got != want {
			t.Errorf("%q: %q, want %q", agent, got, want)
		}
	}
}
