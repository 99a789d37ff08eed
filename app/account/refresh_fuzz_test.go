package account

import "testing"

// Whatever is shown as a refresh token, only what this server has made for the device in front of it is read as one: no
// access token, nothing half right.
func FuzzRefresh(f *testing.F) {
	r := refresher{[]byte("a key for tests")}
	first := r.first(42)
	for _, secret := range []string{first, r.next(42, first), r.first(43), first + "\n", first[:43], ""} {
		f.Add(refreshToken(42, secret))
	}
	f.Add("eyJhbGciOiJIUzI1NiJ9.e30.AAAA")
	f.Add("-1." + first)
	f.Fuzz(func(t *testing.T, token string) {
		device, secret, ok := r.read(token)
		if !ok {
			if device != 0 || secret != "" {
				t.Fatalf("%q: %s, %q", token, device, secret)
			}
			return
		}
		if token != refreshToken(device, secret) || device < 1 || !r.genuine(device, secret) {
			t.Fatalf("%q was read as %s, %q", token, device, secret)
		}
		if next := r.next(device, secret); !r.genuine(device, next) || r.genuine(device+1, secret) {
			t.Fatalf("%q: what follows from it is no token, or it is another device's, too", token)
		}
	})
}

// A stored hash that is none of ours, or would cost too much, is told from one that a password does not fit.
func FuzzHash(f *testing.F) {
	for _, s := range []string{
		nobodysHash, "$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=19$m=4294967295,t=4294967295,p=255$a$b", "$",
		"$argon2id$v=18$m=19456,t=2,p=1$", "$2a$10$abcdefghijklmnopqrstuv",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, hash string) {
		if salt, sum, err := saltAndSum(hash); err == nil && (len(salt) < saltBytes || len(sum) != hashBytes) {
			t.Fatalf("%q: a salt of %d bytes, a sum of %d", hash, len(salt), len(sum))
		}
		if ok, err := fits(hash, "a password"); ok || err != nil && err != errHash {
			t.Fatalf("%q: %v, %v", hash, ok, err)
		}
	})
}
