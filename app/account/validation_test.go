package account

import (
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
)

func TestParseEmail(t *testing.T) {
	t.Parallel()
	maxEmail := strings.Repeat("a", 64) + "@" + strings.Repeat("b", 63) + ".example"
	for in, want := range map[string]string{
		"ada@shop.example": "ada@shop.example", " Ada.L+x@Shop.Example\n": "ada.l+x@shop.example", "a@localhost": "a@localhost",
		"o'brien_{x}@a-b.co": "o'brien_{x}@a-b.co", "a@xn--fiqs8s.example": "a@xn--fiqs8s.example",
		maxEmail: maxEmail, "a@马.example": "a@xn--3f6a.example", "Li@MÜNCHEN.Example": "li@xn--mnchen-3ya.example",
		"li@bücher.example": "li@xn--bcher-kva.example", "a@ｓｈｏｐ。ｅｘａｍｐｌｅ": "a@shop.example",
		"a@straße.example": "a@xn--strae-oqa.example", "a@mu\u0308nchen.example": "a@xn--mnchen-3ya.example",
		"a@аpple.example": "a@xn--pple-43d.example", // Cyrillic а: a different domain, shown in its DNS form
	} {
		if got, err := ParseEmail(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", " ", "ada", "@", "ada@", "@shop.example", "ada@shop", "a@b@shop.example", "a b@shop.example", "a@shop .example",
		"a@shop.example\r\nBcc: b@shop.example", "a\x00@shop.example", "a\t@shop.example", `"a b"@shop.example`, "a@[127.0.0.1]",
		"a@127.0.0.1", "a..b@shop.example", ".a@shop.example", "a.@shop.example", "a@.shop.example", "a@shop..example",
		"a@shop.example.", "a@-shop.example", "a@shop-.example", "马@shop.example", "马@马.example", "аda@shop.example",
		"a@马", "a@马..example", "a@-马.example", "a@马\r\nBcc: b.example", "a@马@b.example", "a@马,b.example", "a@马 .example",
		"a@马\u200d.example", "a@马\u00ad.example", "a@马\u202e.example", "a@\u0308.example", "a@马.127", "a@马\xff.example",
		"a@" + strings.Repeat("马", 64) + ".example", "a@" + strings.Repeat("马.", 60) + "example", "a@马。", "a@⒈com.example",
		"a@xn--马.example", "a@אa.example", "a@١a.example", "a@☕.example",
		"a@shop.exam\u200bple", "<a@shop.example>", "Ada <a@shop.example>", "a@shop.example,b@shop.example", "a@shop_x.example",
		strings.Repeat("a", 65) + "@shop.example", "a@" + strings.Repeat("b", 64) + ".example", "a\xff@shop.example",
		"a@" + strings.Repeat("b.", 200) + "example", strings.Repeat("a", 1<<20), "a@shop.example'; DROP TABLE users; --",
	} {
		if got, err := ParseEmail(in); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%.60q: got %q, %v, want BadRequest", in, got, err)
		}
	}
}

func FuzzParseEmail(f *testing.F) {
	for _, s := range []string{"ada@shop.example", "a@localhost", "a@b@c", "\r\n", "a@127.0.0.1", "a@马.example", "a@BÜ。de"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseEmail(s)
		if err != nil {
			return
		}
		again, err := ParseEmail(got)
		if err != nil || again != got || len(got) > maxEmail || strings.ContainsAny(got, " \r\n\t\x00<>,;\"") {
			t.Errorf("%q was parsed as %q, and this as %q, %v; want a stable result", s, got, again, err)
		}
	})
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	const email = "lovelace@shop.example"
	for _, valid := range []string{
		"correct1", "一二三四五六七八", "spaces are fine", strings.Repeat("ab", 64), strings.Repeat("马a", 64), "'; DROP TABLE users", "\x00\x01\x02\x03\x04\x05\x06\x07",
	} {
		if err := CheckPassword(valid, email); err != nil {
			t.Errorf("password %q: got %v, want no error", valid, err)
		}
	}
	for _, bad := range []string{
		"", "short", "一二三四五六七", strings.Repeat("ab", 65), strings.Repeat("x", 1<<20), email, strings.ToUpper(email), "Lovelace",
		"password", "PassWord1", "12345678", "aaaaaaaa", "马马马马马马马马", "bad\xff\xfe utf8", "woaini1314",
	} {
		err := CheckPassword(bad, email)
		var e *shop.Error
		if !errors.As(err, &e) || e.Code != shop.BadRequest || len(bad) > 8 && strings.Contains(e.Message, bad) {
			t.Errorf("password %.40q: got %v, want BadRequest", bad, err)
		}
	}
}

// TestPasswordsAreNormalized: composed and decomposed letters are the same password. Other differences are kept. A
// known stored hash stays valid.
func TestPasswordsAreNormalized(t *testing.T) {
	t.Parallel()
	const composed, decomposed, folded = "pässwörter für alle", "pa\u0308sswo\u0308rter fu\u0308r alle", "ｐässwörter für alle"
	for a, b := range map[string]string{composed: decomposed, decomposed: composed} {
		if match, err := matches(hashPassword(a), b); err != nil || !match {
			t.Errorf("%q does not match the hash of %q: %v", b, a, err)
		}
	}
	if match, err := matches(hashPassword(composed), folded); err != nil || match {
		t.Errorf("a full-width letter: got %t, %v, want no match", match, err)
	}
	const stored = "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$czBZertpfA3mGtGtkPFbn2WOoat7TW4jYB9Dpv4EugM"
	if match, err := matches(stored, "correct horse 9"); err != nil || !match {
		t.Errorf("a stored hash: got %t, %v, want a match", match, err)
	}
	if err := CheckPassword(strings.Repeat("a\u0308", maxPassword), "a@b.example"); err == nil {
		t.Error("a password of one repeated letter was accepted, want an error")
	}
	if err := CheckPassword(strings.Repeat("u\u0308a\u0308", maxPassword/2), "a@b.example"); err != nil {
		t.Errorf("composed letters: got %v, want each counted as one character", err)
	}
	if err := CheckPassword("a\u0308b\u0323\u0307c\u0308de", "a@b.example"); err == nil {
		t.Error("a password of seven letters, typed as nine characters, was accepted, want an error")
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{" Ada ": "Ada", "王小明 🐴": "王小明 🐴", "<b>x</b>": "<b>x</b>"} {
		if got, err := ParseName(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", "bad\xff", "a\u202eb", strings.Repeat("马", 41)} {
		if got, err := ParseName(bad); err == nil {
			t.Errorf("name %q: got %q, want an error", bad, got)
		}
	}
}

// TestHashMatchesOnlyItsPassword: a hash matches its password only, even if another password differs only at its end or
// in case.
func TestHashMatchesOnlyItsPassword(t *testing.T) {
	t.Parallel()
	hash := hashPassword(goodPassword)
	if hash == hashPassword(goodPassword) {
		t.Error("two hashes of a password are the same, want different salts")
	}
	if want := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(hash, want) || len(hash) > 200 {
		t.Errorf("got hash %s, want the prefix %s", hash, want)
	}
	for password, want := range map[string]bool{
		goodPassword: true, goodPassword + " ": false, strings.ToUpper(goodPassword): false, "": false,
	} {
		if match, err := matches(hash, password); err != nil || match != want {
			t.Errorf("password %q: got %v, %v, want %v", password, match, err, want)
		}
	}
	if match, err := matches(dummyHash, ""); err != nil || match {
		t.Errorf("the hash of an unknown user: got %v, %v, want no match", match, err)
	}
	for _, bad := range []string{
		"", "plain", "$argon2i$v=19$m=19456,t=2,p=1$a$b", "$argon2id$v=19$m=1000000,t=2,p=1$" + hash[len(hash)-66:],
		"$argon2id$v=19$m=19456,t=9999,p=1$" + hash[len(hash)-66:], hash[:len(hash)-9], hash + "AAAA", hash[:40] + "$",
	} {
		if match, err := matches(bad, goodPassword); match || err == nil {
			t.Errorf("hash %q: got %v, %v, want an error", bad, match, err)
		}
	}
}
