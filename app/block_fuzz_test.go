package app

import (
	"errors"
	"net/netip"
	"testing"
)

// What an operator writes about a block is refused with a sentence, or becomes a form that stays what it is.
func FuzzBlock(f *testing.F) {
	for _, b := range [][2]string{
		{"user", "42"},
		{"user", "-1"},
		{"address", "203.0.113.9"},
		{"address", "2001:db8::1%eth0"},
		{"address", "::ffff:10.0.0.1"},
		{"network", "203.0.113.0/24"},
		{"network", "0.0.0.0/0"},
		{"network", "::/0"},
		{"", ""},
	} {
		f.Add(b[0], b[1], "a reason")
	}
	f.Fuzz(func(t *testing.T, kind, value, reason string) {
		b := Block{Kind: BlockKind(kind), Value: value, Reason: reason}
		err := b.Normalize()
		if err != nil {
			if !errors.Is(err, &Error{Code: BadRequest}) {
				t.Fatalf("%q %q: %v", kind, value, err)
			}
			return
		}
		again := b
		if err := again.Normalize(); err != nil || again != b {
			t.Fatalf("%+v became %+v, %v", b, again, err)
		}
		if p, err := netip.ParsePrefix(b.Value); b.Kind == BlockNetwork && (err != nil || p.Bits() < shortestV4) {
			t.Fatalf("%q blocks %v, %v", value, p, err)
		}
	})
}
