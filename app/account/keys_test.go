package account

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// TestRotatedKeyStaysValidForMaxLife: while nodes read a new key one after the other, every node accepts tokens of both
// keys. Tokens of the old key are accepted for MaxLife after the rotation. A rotation that sets Oldest to the new key
// rejects them at once.
func TestRotatedKeyStaysValidForMaxLife(t *testing.T) {
	t.Parallel()
	var c testClock
	nodes := []*Issuer{newIssuer(t, testKey, c.now), newIssuer(t, testKey, c.now)}
	issue := func(i *Issuer, life time.Duration) string {
		t.Helper()
		token, err := i.Issue(42, "Ada", shop.Shopper, life)
		kit.Must(t, err)
		return token
	}
	checkVerify := func(what, token string, on *Issuer, wantValid bool) {
		t.Helper()
		if who, err := on.Verify(token); (err == nil) != wantValid || err == nil && who.User != 42 {
			t.Errorf("%s: got %+v, %v, want valid %v", what, who, err, wantValid)
		}
	}
	token0 := issue(nodes[0], 48*time.Hour)
	generation1 := shop.KeyGeneration{Number: 1, Since: shop.MillisOf(c.now())}
	nodes[0].UseKeys(generation1)
	token1 := issue(nodes[0], 48*time.Hour)
	for what, token := range map[string]string{"a token of the old key": token0, "a token of the new key": token1} {
		checkVerify(what+", on a node with the new key", token, nodes[0], true)
		checkVerify(what+", on a node without the new key", token, nodes[1], true)
	}
	nodes[1].UseKeys(generation1)
	checkVerify("a token of the old key, on a node with the new key", token0, nodes[1], true)
	c.advance(MaxLife + 2*time.Minute)
	checkVerify("a token of the old key, after MaxLife", token0, nodes[0], false)
	checkVerify("a token of the new key, after MaxLife", token1, nodes[0], true)

	generation2 := shop.KeyGeneration{Number: 2, Since: shop.MillisOf(c.now()), Oldest: 2, Salt: "SALT"}
	nodes[0].UseKeys(generation2)
	token2 := issue(nodes[0], time.Hour)
	checkVerify("a token of the previous key, when only the new key is accepted", token1, nodes[0], false)
	checkVerify("a token of the new key, when only this key is accepted", token2, nodes[0], true)
	for generation := range int64(5) {
		forged := issue(newIssuerWithGeneration(t, c.now, generation), time.Hour)
		checkVerify(fmt.Sprintf("a token of generation %d, forged with the stolen secret", generation), forged, nodes[0], false)
	}
	if who, err := nodes[0].Verify(token2); err != nil || nodes[0].Revoked(who) {
		t.Errorf("a token of the new key: got %+v, %v, or it is revoked; want it valid and not revoked", who, err)
	}
	old := shop.Identity{User: 42, Device: 1, KeyNumber: 1}
	if !nodes[0].Revoked(old) {
		t.Error("a socket that was opened with a token of the previous key is still accepted")
	}
}

func newIssuerWithGeneration(t *testing.T, now func() time.Time, generation int64) *Issuer {
	t.Helper()
	i := newIssuer(t, testKey, now)
	i.UseKeys(shop.KeyGeneration{Number: generation})
	return i
}

// TestExpiredAndRevokedTokensAreRejected: a verified token is rejected after its expiry, the revocation of its device
// or the replacement of its key.
func TestExpiredAndRevokedTokensAreRejected(t *testing.T) {
	t.Parallel()
	for what, invalidate := range map[string]func(c *testClock, i *Issuer){
		"its lifetime is over": func(c *testClock, _ *Issuer) { c.advance(time.Hour + 2*leeway) },
		"its device was revoked": func(_ *testClock, i *Issuer) {
			i.revoked.Store(&map[shop.ID]shop.Millis{7: 1 << 60})
		},
		"its key was replaced": func(_ *testClock, i *Issuer) { i.UseKeys(shop.KeyGeneration{Number: 1, Oldest: 1}) },
	} {
		var c testClock
		i := newIssuer(t, testKey, c.now)
		token, _, err := i.sign(42, claims{Name: "Ada", Role: shop.Shopper, Device: "7"}, time.Hour)
		kit.Must(t, err)
		for range 2 {
			if who, err := i.Verify(token); err != nil || who.Device != 7 {
				t.Fatalf("got %+v, %v, want device 7", who, err)
			}
		}
		invalidate(&c, i)
		for range 2 {
			if _, err := i.Verify(token); !errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
				t.Errorf("%s: got %v, want Unauthorized", what, err)
			}
		}
	}
}

// BenchmarkVerify measures the token check of a request, which takes less than 5 µs.
func BenchmarkVerify(b *testing.B) {
	i, err := NewIssuer(testKey, nil)
	kit.Must(b, err)
	revoked := make(map[shop.ID]shop.Millis)
	for n := range shop.ID(100_000) {
		revoked[n+1] = 1 << 60
	}
	i.revoked.Store(&revoked)
	u := shop.User{ID: 7301444300000000007, Name: "Guest 7301", Role: shop.Shopper}
	token, _, err := i.IssueTo(&u, 7301444300000000008)
	kit.Must(b, err)
	b.Run("fast parser", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			kit.Must(b, errOf(i.Verify(token)))
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := i.parseWithLibrary(token); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPassword measures the password check of a login.
func BenchmarkPassword(b *testing.B) {
	for b.Loop() {
		_, _ = matches(dummyHash, goodPassword)
	}
}
