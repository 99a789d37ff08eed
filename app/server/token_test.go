package server

import (
	"context"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/shop"
)

// clockOffset is a Redis whose clock is ahead of the local clock.
type clockOffset time.Duration

func (c clockOffset) Now(context.Context) (shop.Millis, error) {
	return shop.MillisOf(time.Now().Add(time.Duration(c))), nil
}

// TestTokensExpireByRedisTime: tokens expire by Redis time (I10). A node with a wrong wall clock accepts the same
// tokens as the other nodes, and the others accept its tokens.
func TestTokensExpireByRedisTime(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		s, err := New(embeddedConfig(t, t.TempDir()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.clock.Sample(context.Background(), clockOffset(ahead)); err != nil {
			t.Fatal(err)
		}
		right, err := account.NewIssuer([]byte(s.config.JWTSecret), func() time.Time { return time.Now().Add(ahead) })
		if err != nil {
			t.Fatal(err)
		}
		paths := map[string]struct{ from, to *account.Issuer }{
			"of this node": {s.issuer, right}, "of another node": {right, s.issuer},
		}
		for name, path := range paths {
			token, err := path.from.Issue(7, "Tester", shop.Shopper, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := path.to.Verify(token); err != nil {
				t.Errorf("Redis %v ahead, token %s: got %v, want it accepted", ahead, name, err)
			}
		}
	}
}
