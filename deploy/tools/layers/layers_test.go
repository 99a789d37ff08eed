package main

import (
	"strings"
	"testing"
)

// TestCheck covers the direction of imports, the separation of streams and realtime, and the packages without
// third-party imports.
func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		inTest   bool
		want     string // part of the sentence; empty: allowed
	}{
		{from: "stampede/app/order", to: "context"},
		{from: "stampede/app/order", to: "github.com/redis/go-redis/v9", want: "standard library only"},
		{from: "stampede/app/order", to: "stampede/app/store", want: "app/store"},
		{from: "stampede/app/backoffice", to: "stampede/app/store"},
		{from: "stampede/app/backoffice", to: "github.com/uptrace/bun", want: "standard library only"},
		{from: "stampede/app/store", to: "github.com/uptrace/bun"},
		{from: "stampede/app/store", to: "stampede/app/backoffice", want: "app/backoffice"},
		{from: "stampede/app/order", to: "stampede/app/catalog"},
		{from: "stampede/app/catalog", to: "stampede/app/order", want: "app/order"},
		{from: "stampede/app/catalog", to: "stampede/app/order", inTest: true, want: "app/order"},
		{from: "stampede/app/trace", to: "stampede/app/trace/export", want: "nothing"},
		{from: "stampede/app/order", to: "stampede/app/test/fakes", inTest: true},
		{from: "stampede/app/order", to: "pgregory.net/rapid", inTest: true},
		{from: "stampede/app/order", to: "stampede/app/test/kit", inTest: true},
		{from: "stampede/streams", to: "stampede/app/shop"},
		{from: "stampede/streams", to: "stampede/app/store", want: "stampede/app/store"},
		{from: "stampede/streams", to: "stampede/realtime", want: "stampede/realtime"},
		{from: "stampede/app/recovery", to: "stampede/streams"},
		{from: "stampede/realtime", to: "stampede/streams", inTest: true, want: "stampede/streams"},
		{from: "stampede/streams", to: "stampede/app/test/kit", want: "app/test/kit"},
		{from: "stampede/migrations", to: "stampede/app/store", inTest: true},
		{from: "stampede/migrations", to: "stampede/app/store", want: "app/store"},
		{from: "stampede/app/alipay/sim", to: "stampede/app/alipay"},
		{from: "stampede/app/server", to: "stampede/realtime"},
		{from: "stampede/app/cmd/stampede", to: "stampede/app/server"},
		{from: "stampede/app/cmd/stampede", to: "stampede/realtime", want: "stampede/realtime"},
		{from: "stampede/app/server", to: "stampede/app/cmd/stampede", want: "app/cmd"},
		{from: "stampede/app/demo", to: "stampede/app/wsclient"},
		{from: "stampede/deploy/bench", to: "stampede/app/load"},
		{from: "stampede/app/wsclient", to: "stampede/app/shop"},
		{from: "stampede/app/wsclient", to: "stampede/realtime", inTest: true, want: "stampede/realtime"},
		{from: "stampede/realtime", to: "stampede/app/wsclient", want: "app/wsclient"},
		{from: "stampede/realtime", to: "stampede/app/wsclient", inTest: true},
		{from: "stampede/app/server", to: "stampede/app/wsclient", want: "app/wsclient"},
		{from: "stampede/app/server", to: "stampede/app/test/faults", want: "app/test/faults"},
		{from: "stampede/app/server", to: "stampede/app/test/faults", inTest: true},
		{from: "stampede/app/novelty", to: "fmt", want: "has no layer"},
	}
	for _, c := range cases {
		got := check(c.from, c.to, c.inTest)
		if c.want == "" && got != "" {
			t.Errorf("%s → %s: %q, want it allowed", c.from, c.to, got)
		}
		if c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s → %s: %q, want a sentence with %q", c.from, c.to, got, c.want)
		}
	}
}
