package api

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"stampede/app/account"
	"stampede/app/limits"
	"stampede/app/test/kit"
)

// cookie returns the refresh cookie that a response sets.
func (r response) cookie() string { return r.header.Get("Set-Cookie") }

func openAccounts(t *testing.T) (*site, *world) {
	t.Helper()
	return openShop(t, func(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
}

const adaLogin = `{"email":"ada@shop.example","password":"` + testPassword + `"`

// loginApp logs Ada in as an app and returns her refresh token.
func (s *site) loginApp() string {
	s.t.Helper()
	got := s.request("POST", "/api/v1/auth/login", adaLogin+`,"client":"app","device":"My phone"}`)
	var session account.Session
	if err := json.Unmarshal([]byte(got.body), &session); err != nil || session.Refresh == "" || got.cookie() != "" {
		s.t.Fatalf("app login: got %d %s, cookie %q; want a refresh token and no cookie", got.code, got.body, got.cookie())
	}
	return session.Refresh
}

// token returns the refresh token in the cookie that a response sets.
func (r response) token() string {
	token, _, _ := strings.Cut(strings.TrimPrefix(r.cookie(), refreshCookie+"="), ";")
	return token
}

// A browser gets its refresh token only in a cookie that scripts cannot read. An app gets its token only in the body.
func TestLoginReturnsRefreshTokenInCookieOrBody(t *testing.T) {
	t.Parallel()
	s, w := openAccounts(t)
	const login = "/api/v1/auth/login"
	browser := s.request("POST", login, adaLogin+`}`,
		"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0")
	s.want(browser, 200, `"user":{"id":"42","name":"Ada","role":"shopper"`)
	for _, part := range []string{
		"stampede_refresh=", "path=/api/v1/auth", "max-age=2592000", "HttpOnly", "SameSite=Strict",
	} {
		if !strings.Contains(browser.cookie(), part) {
			t.Errorf("got the cookie %q, want %s in it", browser.cookie(), part)
		}
	}
	if strings.Contains(browser.body, `"refresh"`) || browser.token() == "" ||
		strings.Contains(browser.cookie(), "secure") {
		t.Errorf("browser login: got %s, cookie %q; want the token only in the cookie", browser.body, browser.cookie())
	}
	safe := s.request("POST", login, adaLogin+`}`, "X-Forwarded-Proto", "https")
	if !strings.Contains(safe.cookie(), "secure") {
		t.Errorf("over HTTPS: got the cookie %q, want secure", safe.cookie())
	}
	public, _ := openShop(t, func(o *Options) { o.Public = url.URL{Scheme: "https", Host: "shop.example"} })
	if plain := public.request("POST", login, adaLogin+`}`); !strings.Contains(plain.cookie(), "secure") {
		t.Errorf("public HTTPS without X-Forwarded-Proto: got the cookie %q, want secure", plain.cookie())
	}
	s.loginApp()
	devices := s.request("GET", "/api/v1/me/devices", "", "Authorization", "Bearer user-42")
	s.want(devices, 200, `"name":"Firefox, Linux"`)
	s.want(devices, 200, `"name":"My phone"`)
	s.want(s.request("POST", login, adaLogin+`,"client":"browser"}`), 400, "bad_request")
	wrong := s.request("POST", login, `{"email":"ada@shop.example","password":"x"}`, "X-Real-IP", "2001:db8::1:2")
	s.want(wrong, 401, "unauthorized")
	if wrong.cookie() != "" {
		t.Errorf("a failed login: got the cookie %q, want none", wrong.cookie())
	}
	if counts := w.redis.Keys(w.ctx, "*address:2001:db8:*").Val(); len(counts) == 0 {
		t.Errorf("got the keys %q, want a counter of failures for the address", w.redis.Keys(w.ctx, "*").Val())
	}
}

// The cookie is accepted only from pages of this shop: these pages send shopPageHeader, and the browser reports the
// site of the page.
func TestRefreshByCookieNeedsOurPage(t *testing.T) {
	t.Parallel()
	s, _ := openAccounts(t)
	token := s.loginApp()
	cookie := refreshCookie + "=" + token
	for _, path := range []string{"/api/v1/auth/refresh", "/api/v1/auth/logout"} {
		s.want(s.request("POST", path, "", "Cookie", cookie), 403, "X-Stampede")
		s.want(s.request("POST", path, "", "Cookie", cookie, "X-Stampede", "2"), 403, "X-Stampede")
		for _, site := range []string{"cross-site", "same-site", "anything"} {
			s.want(s.request("POST", path, "", "Cookie", cookie, "X-Stampede", "1", "Sec-Fetch-Site", site), 403, "forbidden")
		}
		s.want(s.request("POST", path, ""), 401, "unauthorized")
	}
	for _, site := range []string{"same-origin", "none", ""} { // the first: no rejected request has used the token
		a := s.request("POST", "/api/v1/auth/refresh", "", "Cookie", cookie, "X-Stampede", "1", "Sec-Fetch-Site", site)
		s.want(a, 200, `"access"`)
		if token = a.token(); token == "" || strings.Contains(a.body, `"refresh"`) {
			t.Errorf("got %s, cookie %q; want the token only in the cookie", a.body, a.cookie())
		}
		cookie = refreshCookie + "=" + token
	}
	ended := s.request("POST", "/api/v1/auth/refresh", "", "Cookie", "stampede_refresh=9.x", "X-Stampede", "1")
	s.want(ended, 401, "unauthorized")
	if !strings.Contains(ended.cookie(), "stampede_refresh=;") {
		t.Errorf("an invalid token: got the cookie %q, want it removed", ended.cookie())
	}
	inBody := s.request("POST", "/api/v1/auth/refresh", `{"refresh":"`+token+`"}`, "Cookie", "stampede_refresh=other")
	s.want(inBody, 200, `"refresh":"`)
	if inBody.cookie() != "" {
		t.Errorf("a token in the body: got the cookie %q, want none", inBody.cookie())
	}
	login := func(header, value string) response {
		return s.request("POST", "/api/v1/auth/login", `{"email":"a@b.co","password":"x"}`, header, value)
	}
	s.want(login("Sec-Fetch-Site", "cross-site"), 403, "forbidden")
	for origin, code := range map[string]int{"https://evil.example": 403, "null": 403, s.url: 401} {
		if a := login("Origin", origin); a.code != code {
			t.Errorf("login from the origin %s: got %d %s, want %d", origin, a.code, a.body, code)
		}
	}
}

func TestLogoutAcceptsBodyBearerOrCookie(t *testing.T) {
	t.Parallel()
	s, w := openAccounts(t)
	const logout = "/api/v1/auth/logout"
	wantEnded := func(refresh string, ended bool) {
		t.Helper()
		got := s.request("POST", "/api/v1/auth/refresh", `{"refresh":"`+refresh+`"}`)
		if want := map[bool]int{true: 401, false: 200}[ended]; got.code != want {
			t.Errorf("refresh: got %d %s, want %d", got.code, got.body, want)
		}
	}
	one, other := s.loginApp(), s.loginApp()
	out := s.request("POST", logout, `{"everywhere":true}`, "Cookie", refreshCookie+"="+one, "X-Stampede", "1")
	s.want(out, 200, "{}")
	if !strings.Contains(out.cookie(), "stampede_refresh=;") {
		t.Errorf("logout: got the cookie %q, want it removed", out.cookie())
	}
	wantEnded(other, true)
	one, other = s.loginApp(), s.loginApp()
	s.want(s.request("POST", logout, `{"refresh":"`+one+`"}`), 200, "{}")
	wantEnded(one, true)
	wantEnded(other, false)
	s.want(s.request("POST", logout, "", "Authorization", "Bearer user-43"), 200, "{}") // a guest has no device
	if n := kit.Count(t, w.db.DB().DB, "SELECT COUNT(*) FROM revoked WHERE subject = 43"); n != 1 {
		t.Errorf("got %d revoked tokens of user 43, want 1", n)
	}
	s.want(s.request("POST", logout, "", "Authorization", "Bearer nonsense"), 401, "unauthorized")
	s.want(s.request("POST", logout, `{"everywhere":"yes"}`), 400, "bad_request")
}

func TestAccountRoutesCheckTokensAndInput(t *testing.T) {
	t.Parallel()
	s, _ := openAccounts(t)
	const authorization = "Authorization"
	registration := `{"email":"new@shop.example","password":"` + testPassword + `","captcha":{"id":"c","answer":"1"}}`
	s.want(s.request("GET", "/api/v1/auth/captcha", ""), 200, `"image":"data:image/png`)
	s.want(s.request("POST", "/api/v1/auth/register", registration, authorization, "Bearer ended"), 401, "unauthorized")
	s.want(s.request("POST", "/api/v1/auth/register", registration), 403, "captcha")
	s.want(s.request("POST", "/api/v1/auth/register", "nonsense"), 400, "bad_request")
	s.want(s.request("POST", "/api/v1/auth/activate", `{"token":"bad"}`), 404, "not_found")
	s.want(s.request("POST", "/api/v1/auth/unregister", `{"token":"bad"}`), 404, "not_found")
	eve := `{"email":"eve@shop.example","password":"` + testPassword + `"}`
	s.want(s.request("POST", "/api/v1/auth/login", eve, authorization, "Bearer user-50"), 200, `"user":{"id":"7"`)
	s.want(s.request("POST", "/api/v1/auth/login", adaLogin+"}", authorization, "Bearer ended"), 200, `"user":{"id":"42"`)
	s.want(s.request("POST", "/api/v1/auth/forgot", `{"email":"a@b.co","captcha":{"id":"c","answer":"1"}}`), 403, "captcha")
	s.want(s.request("POST", "/api/v1/auth/reset", `{"token":"t","password":"`+testPassword+`"}`), 404, "not_found")
	for _, route := range []string{
		"GET /api/v1/me", "PATCH /api/v1/me", "POST /api/v1/me/password", "GET /api/v1/me/devices", "DELETE /api/v1/me/devices/7",
	} {
		method, path, _ := strings.Cut(route, " ")
		s.want(s.request(method, path, "{}"), 401, "unauthorized")
	}
	s.want(s.request("GET", "/api/v1/me", "", authorization, "Bearer user-42"), 200, `"id":"42","name":"Ada","role":"shopper"`)
	s.want(s.request("GET", "/api/v1/me", "", authorization, "Bearer user-43"), 200, `"guest":true}`)
	s.want(s.request("PATCH", "/api/v1/me", `{"name":"Eve"}`, authorization, "Bearer user-42"), 200, `"name":"Eve"`)
	wrong := s.request("POST", "/api/v1/me/password", `{"old":"a","new":"`+testPassword+`!"}`, authorization, "Bearer user-42")
	s.want(wrong, 403, "password")
	s.want(s.request("GET", "/api/v1/me/devices", "", authorization, "Bearer user-42"), 200, `{"devices":[{"id":"`)
	s.want(s.request("DELETE", "/api/v1/me/devices/7", "", authorization, "Bearer user-42"), 200, "{}")
	s.want(s.request("DELETE", "/api/v1/me/devices/8", "", authorization, "Bearer user-42"), 404, "not_found")
}

// Logins of an address use the same limits as guest logins.
func TestAccountRoutesShareGuestLimits(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, func(o *Options) {
		o.Admit = limits.NewLimiter(limits.Classes{
			limits.Auth: {Addr: limits.Pace{Rate: 1, Period: 1 << 40, Burst: 2}},
		}, nil).Take
	})
	s.want(s.request("GET", "/api/v1/auth/captcha", ""), 200, "image")
	s.want(s.request("POST", "/api/v1/auth/guest", ""), 200, "access")
	s.want(s.request("POST", "/api/v1/auth/login", `{"email":"a@b.co","password":"x"}`), 429, "rate_limited")
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
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
}
