package order

import (
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

func TestBuyRequestErrorNamesTheField(t *testing.T) {
	t.Parallel()
	good := BuyRequest{Sale: 1, Qty: 1, Key: "abcdefgh"}
	fakes.Must(t, good.validate())
	for name, c := range map[string]struct {
		change  func(*BuyRequest)
		code    shop.Code
		message string
	}{
		"no sale":      {func(r *BuyRequest) { r.Sale = 0 }, shop.BadRequest, "sale"},
		"quantity 0":   {func(r *BuyRequest) { r.Qty = 0 }, shop.BadRequest, "qty"},
		"negative":     {func(r *BuyRequest) { r.Qty = -3 }, shop.BadRequest, "qty"},
		"huge":         {func(r *BuyRequest) { r.Qty = 1 << 40 }, shop.LimitReached, "limit"},
		"short key":    {func(r *BuyRequest) { r.Key = "abc" }, shop.BadRequest, "key"},
		"long key":     {func(r *BuyRequest) { r.Key = strings.Repeat("a", 65) }, shop.BadRequest, "key"},
		"odd key":      {func(r *BuyRequest) { r.Key = "abcd|efgh" }, shop.BadRequest, "key"},
		"half address": {func(r *BuyRequest) { r.Address = &shop.Address{Name: "a", Phone: "1"} }, shop.BadRequest, "address.text"},
		"long address": {func(r *BuyRequest) {
			r.Address = &shop.Address{
				Name: strings.Repeat("a", 101), Phone: "1", Text: "x",
			}
		}, shop.BadRequest, "address.name"},
		"broken address": {func(r *BuyRequest) { r.Address = &shop.Address{Name: "a\x00b", Phone: "1", Text: "x"} }, shop.BadRequest, "address.name"},
	} {
		r := good
		c.change(&r)
		e := shop.AsError(r.validate())
		if e.Code != c.code || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: got %v, want %s with %q in its message", name, e, c.code, c.message)
		}
	}
}

// P4: the same key with other content is detected, for a difference in any part.
func TestContentHashCoversEveryPart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, r := range map[string]BuyRequest{
		"one":                     {Qty: 1},
		"eleven":                  {Qty: 11},
		"address":                 {Qty: 1, Address: &shop.Address{Name: "ab", Phone: "c", Text: "d"}},
		"parts split differently": {Qty: 1, Address: &shop.Address{Name: "a", Phone: "bc", Text: "d"}},
		"another text":            {Qty: 1, Address: &shop.Address{Name: "ab", Phone: "c", Text: "e"}},
	} {
		h := r.contentHash()
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash %s", name, other, h)
		}
		seen[h] = name
	}
}
