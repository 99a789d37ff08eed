package api

import (
	"strings"
	"testing"
)

// The token determines the owner of an address, and the path determines the entry. The body changes neither.
func TestAddressRoutesUseOwnerOfToken(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	const ada = `{"name":"Ada","phone":"1","text":"Road 1","default":true}`
	for _, c := range []struct {
		method, path, body string
		code               int
		part               string
	}{
		{"GET", "", "", 200, `{"addresses":[{"id":"7","name":"Ada","phone":"1","text":"Road 1","default":true}]}`},
		{"POST", "", ada, 200, `{"id":"7","name":"Ada","phone":"1","text":"Road 1","default":true}`},
		{"POST", "", `{"id":"9","name":"Ada","phone":"1","text":"Road 1"}`, 200, `"id":"7"`},
		{"PUT", "/7", `{"id":"9","name":"Ada","phone":"2","text":"Road 1"}`, 200, `{"id":"7","name":"Ada","phone":"2"`},
		{"DELETE", "/7", "", 200, `{}`},
		{"PUT", "/8", ada, 404, "no such address"},
		{"DELETE", "/8", "", 404, "no such address"},
		{"DELETE", "/x", "", 400, "bad_request"},
		{"PUT", "/0", ada, 400, "bad_request"},
		{"POST", "", `{"name":"Ada","phone":"1"}`, 400, "address.text is empty"},
		{"POST", "", `{"name":"A\u0000a","phone":"1","text":"r"}`, 400, "cannot be stored"},
		{"POST", "", `{"name":"` + strings.Repeat("x", 101) + `","phone":"1","text":"r"}`, 400, "address.name"},
		{"POST", "", `{"name":7}`, 400, "name must be a string"},
		{"POST", "", `{"default":"yes"}`, 400, "default must be a bool"},
		{"POST", "", `[]`, 400, "bad_request"},
		{"POST", "", ada + ada, 400, "bad_request"},
	} {
		got := s.request(c.method, "/api/v1/me/addresses"+c.path, c.body, "Authorization", "Bearer user-42")
		s.want(got, c.code, c.part)
		s.want(s.request(c.method, "/api/v1/me/addresses"+c.path, c.body), 401, "unauthorized")
	}
	s.want(s.request("GET", "/api/v1/me/addresses", "", "Authorization", "Bearer user-43"), 200, `{"addresses":[]}`)
}
