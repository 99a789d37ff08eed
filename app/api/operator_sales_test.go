package api

import (
	"fmt"
	"slices"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

// While the switches are set, buys over HTTP are rejected, and lists come from the cache, separately for each user.
func TestSwitchesRejectBuysAndCacheLists(t *testing.T) {
	t.Parallel()
	var counted []string
	var checkout fakeCheckout
	s, w := openShop(t, func(o *Options) {
		o.Buy = checkout.buy
		o.Switches = func() backoffice.Switches { return backoffice.Switches{Lists: backoffice.ListsCached} }
		o.BuyRejected = func(sale shop.ID, err error) {
			counted = append(counted, fmt.Sprint(sale, " ", shop.AsError(err).Code))
		}
	})
	me := []string{"Authorization", "Bearer user-42"}
	s.want(s.request("POST", "/api/v1/sales/5/buy", validBuy, me...), 403, "switched off")
	if checkout.got.Load() != nil || !slices.Equal(counted, []string{"5 forbidden"}) {
		t.Errorf("got the counted attempts %q, want one, and no call of the service", counted)
	}
	const first, second = "/api/v1/orders?sale=7", "/api/v1/orders?sale=9"
	before := s.request("GET", first, "", me...)
	s.want(before, 200, `"sale":"7"`)
	w.must(w.db.Close()) // now every read fails
	if again := s.request("GET", first, "", me...); again.body != before.body {
		t.Errorf("repeated request: got %d %s, want the cached list", again.code, again.body)
	}
	// The parsed query is the key.
	if again := s.request("GET", first+"&limit=020&x=1", "", me...); again.body != before.body {
		t.Errorf("repeated request with another query text: got %d %s, want the cached list", again.code, again.body)
	}
	s.want(s.request("GET", second, "", me...), 503, "busy")
	s.want(s.request("GET", first, "", "Authorization", "Bearer user-43"), 503, "busy") // another user's list
	s.want(s.request("GET", first, "", "Authorization", "Bearer x"), 401, "unauthorized")
	s.want(s.request("GET", first, ""), 401, "unauthorized")
}
