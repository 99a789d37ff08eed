package api

import (
	"strings"
	"testing"
)

// An export is sent as a file. After a deletion the refresh cookie is removed.
func TestPersonalDataRoutes(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	const me = "Bearer user-42"
	got := s.ask("GET", "/api/v1/me/export", "", "Authorization", me)
	s.want(got, 200, `"user":{"id":"42"`)
	if file := got.header.Get("Content-Disposition"); !strings.Contains(file, `filename="stampede-data.json"`) {
		t.Errorf("got Content-Disposition %q, want a file", file)
	}
	s.want(s.ask("GET", "/api/v1/me/export", ""), 401, "unauthorized")
	s.want(s.ask("POST", "/api/v1/me/delete", `{"password":"x"}`), 401, "unauthorized")
	refused := s.ask("POST", "/api/v1/me/delete", `{"password":"wrong"}`, "Authorization", me)
	s.want(refused, 403, "the password is")
	s.want(s.ask("POST", "/api/v1/me/delete", `{"password":7}`, "Authorization", me), 400, "password must be a string")
	for who, body := range map[string]string{
		me: `{"password":"` + testPassword + `"}`, "Bearer user-43": `{}`, "Bearer user-44": "",
	} {
		gone := s.ask("POST", "/api/v1/me/delete", body, "Authorization", who)
		s.want(gone, 200, "{}")
		if !strings.Contains(gone.cookie(), "stampede_refresh=;") || refused.cookie() != "" {
			t.Errorf("got the cookies %q, and %q after a rejection; want only the first one removed", gone.cookie(), refused.cookie())
		}
	}
}
