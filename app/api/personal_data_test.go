package api

import (
	"strings"
	"testing"
)

// An export is sent as a file. After a deletion the refresh cookie is removed.
func TestPersonalDataIsExportedAndDeleted(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	const me = "Bearer user-42"
	got := s.request("GET", "/api/v1/me/export", "", "Authorization", me)
	s.want(got, 200, `"user":{"id":"42"`)
	if file := got.header.Get("Content-Disposition"); !strings.Contains(file, `filename="stampede-data.json"`) {
		t.Errorf("got Content-Disposition %q, want a file", file)
	}
	s.want(s.request("GET", "/api/v1/me/export", ""), 401, "unauthorized")
	s.want(s.request("POST", "/api/v1/me/delete", `{"password":"x"}`), 401, "unauthorized")
	rejected := s.request("POST", "/api/v1/me/delete", `{"password":"wrong"}`, "Authorization", me)
	s.want(rejected, 403, "the password is")
	s.want(s.request("POST", "/api/v1/me/delete", `{"password":7}`, "Authorization", me), 400, "password must be a string")
	for who, body := range map[string]string{
		me: `{"password":"` + testPassword + `"}`, "Bearer user-43": `{}`, "Bearer user-44": "",
	} {
		deleted := s.request("POST", "/api/v1/me/delete", body, "Authorization", who)
		s.want(deleted, 200, "{}")
		if !strings.Contains(deleted.cookie(), "stampede_refresh=;") || rejected.cookie() != "" {
			t.Errorf("got the cookies %q, and %q after a rejection; want a removed cookie only after the deletion", deleted.cookie(), rejected.cookie())
		}
	}
}
