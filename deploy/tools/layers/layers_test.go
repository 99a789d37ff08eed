package main

import (
	"strings"
	"testing"
)

// "Imports point inward … streams and realtime never import each other; app imports the standard
// library only."
func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		inTest   bool
		wrong    string // part of the sentence; empty: allowed
	}{
		{from: "stampede/app", to: "context"},
		{from: "stampede/app", to: "github.com/redis/go-redis/v9", wrong: "standard library only"},
		{from: "stampede/app", to: "stampede/app/store", wrong: "nothing"},
		{from: "stampede/app", to: "pgregory.net/rapid", inTest: true},
		{from: "stampede/app", to: "stampede/app/test/kit", inTest: true},
		{from: "stampede/streams", to: "stampede/app"},
		{from: "stampede/streams", to: "stampede/app/store", wrong: "stampede/app/store"},
		{from: "stampede/streams", to: "stampede/realtime", wrong: "stampede/realtime"},
		{from: "stampede/realtime", to: "stampede/streams", inTest: true, wrong: "stampede/streams"},
		{from: "stampede/streams", to: "stampede/app/test/kit", wrong: "app/test/kit"},
		{from: "stampede/migrations", to: "stampede/app/store", inTest: true},
		{from: "stampede/migrations", to: "stampede/app/store", wrong: "app/store"},
		{from: "stampede/app/alipay/sim", to: "stampede/app/alipay"},
		{from: "stampede/app/server", to: "stampede/realtime"},
		{from: "stampede/app/cmd/stampede", to: "stampede/app/server"},
		{from: "stampede/app/cmd/stampede", to: "stampede/streams", wrong: "stampede/streams"},
		{from: "stampede/app/server", to: "stampede/app/cmd/stampede", wrong: "app/cmd"},
		{from: "stampede/app/demo", to: "stampede/app/wsclient"},
		{from: "stampede/deploy/bench", to: "stampede/app/load"},
		{from: "stampede/app/wsclient", to: "stampede/app"},
		{from: "stampede/app/wsclient", to: "stampede/realtime", inTest: true, wrong: "stampede/realtime"},
		{from: "stampede/realtime", to: "stampede/app/wsclient", wrong: "app/wsclient"},
		{from: "stampede/realtime", to: "stampede/app/wsclient", inTest: true},
		{from: "stampede/app/server", to: "stampede/app/wsclient", wrong: "app/wsclient"},
		{from: "stampede/app/server", to: "stampede/app/test/faults", wrong: "app/test/faults"},
		{from: "stampede/app/server", to: "stampede/app/test/faults", inTest: true},
		{from: "stampede/app/novelty", to: "fmt", wrong: "has no layer"},
	}
	for _, c := range cases {
		got := check(c.from, c.to, c.inTest)
		if c.wrong == "" && got != "" {
			t.Errorf("%s → %s: %q, want it allowed", c.from, c.to, got)
		}
		if c.wrong != "" && !strings.Contains(got, c.wrong) {
			t.Errorf("%s → %s: %q, want a sentence with %q", c.from, c.to, got, c.wrong)
		}
	}
}
