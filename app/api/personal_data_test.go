package api

import (
	"context"
	"strings"
	"testing"

	"stampede/app/payment"
	"stampede/app/privacy"
	"stampede/app/shop"
)

// fakeData keeps something of everybody, under one password.
type fakeData struct{}

func (fakeData) Export(_ context.Context, who shop.Identity) (privacy.Export, error) {
	return privacy.Export{
		At: 1_700_000_000_000, User: privacy.ExportedUser{ID: who.User, Name: "Ada", Role: who.Role, Guest: true},
		Devices:   []privacy.ExportedDevice{{ID: 3, Name: "Phone", CreatedAt: 1, LastSeenAt: 1, ExpiresAt: 2}},
		Addresses: []shop.SavedAddress{{ID: 7, Address: shop.Address{Name: "Ada", Phone: "1", Text: "Road 1"}, Default: true}},
		Orders: []privacy.ExportedOrder{{
			Order:  someOrder(8, 5, shop.Refunded),
			Refund: &privacy.ExportedRefund{State: payment.RefundDone, AmountFen: 4900, AskedAt: 1},
		}},
	}, nil
}

func (fakeData) Delete(_ context.Context, _ shop.Identity, password string) error {
	if password != "wrong" {
		return nil
	}
	return shop.Fail(shop.Forbidden, "the password is not right")
}

// A copy comes as a file; a deletion takes the cookie of the log in with it, once it is done.
func TestPersonalDataRoutes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const me = "Bearer user-42"
	got := s.ask("GET", "/api/v1/me/export", "", "Authorization", me)
	s.want(got, 200, `"user":{"id":"42"`)
	if file := got.header.Get("Content-Disposition"); !strings.Contains(file, `filename="stampede-data.json"`) {
		t.Errorf("not a file: %q", file)
	}
	s.want(s.ask("GET", "/api/v1/me/export", ""), 401, "unauthorized")
	s.want(s.ask("POST", "/api/v1/me/delete", `{"password":"x"}`), 401, "unauthorized")
	refused := s.ask("POST", "/api/v1/me/delete", `{"password":"wrong"}`, "Authorization", me)
	s.want(refused, 403, "the password is not right")
	s.want(s.ask("POST", "/api/v1/me/delete", `{"password":7}`, "Authorization", me), 400, "password must be a string")
	for _, body := range []string{`{"password":"secret"}`, `{}`, ""} {
		gone := s.ask("POST", "/api/v1/me/delete", body, "Authorization", me)
		s.want(gone, 200, "{}")
		if !strings.Contains(gone.cookie(), "stampede_refresh=;") || refused.cookie() != "" {
			t.Errorf("cookies: %q, and %q when it was refused", gone.cookie(), refused.cookie())
		}
	}
}
