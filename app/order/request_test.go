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
		"no sale":              {func(r *BuyRequest) { r.Sale = 0 }, shop.BadRequest, "sale"},
		"quantity 0":           {func(r *BuyRequest) { r.Qty = 0 }, shop.BadRequest, "qty"},
		"quantity -3":          {func(r *BuyRequest) { r.Qty = -3 }, shop.BadRequest, "qty"},
		"quantity 2^40":        {func(r *BuyRequest) { r.Qty = 1 << 40 }, shop.LimitReached, "limit"},
		"short key":            {func(r *BuyRequest) { r.Key = "abc" }, shop.BadRequest, "key"},
		"long key":             {func(r *BuyRequest) { r.Key = strings.Repeat("a", 65) }, shop.BadRequest, "key"},
		"key with a |":         {func(r *BuyRequest) { r.Key = "abcd|efgh" }, shop.BadRequest, "key"},
		"address without text": {func(r *BuyRequest) { r.Address = &shop.Address{Name: "a", Phone: "1"} }, shop.BadRequest, "address.text"},
		"long name in the address": {func(r *BuyRequest) {
			r.Address = &shop.Address{
				Name: strings.Repeat("a", 101), Phone: "1", Text: "x",
			}
		}, shop.BadRequest, "address.name"},
		"NUL in the address": {func(r *BuyRequest) { r.Address = &shop.Address{Name: "a\x00b", Phone: "1", Text: "x"} }, shop.BadRequest, "address.name"},
	} {
		r := good
		c.change(&r)
		e := shop.AsError(r.validate())
		if e.Code != c.code || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: got error %v, want code %s with %q in its message", name, e, c.code, c.message)
		}
	}
}

// P4: reuse of a key is detected if any part of the content differs.
func TestContentHashCoversEveryPart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, r := range map[string]BuyRequest{
		"one unit":                {Qty: 1},
		"eleven units":            {Qty: 11},
		"an address":              {Qty: 1, Address: &shop.Address{Name: "ab", Phone: "c", Text: "d"}},
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
