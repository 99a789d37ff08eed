package realtime

import "testing"

func TestParseCursorRejectsInvalidText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", ".", "1", "1.", ".5f3a9c1e", "1.5f3a9c1", "1.5f3a9c1e0",
		"1.5F3A9C1E", "1.5f3a9c1g", "-1.5f3a9c1e", "+1.5f3a9c1e",
		"01.5f3a9c1e", "1 .5f3a9c1e", "1.5f3a9c1e ", "1.5f3a.c1e",
		"9223372036854775808.5f3a9c1e", "1-0",
	} {
		if c, err := ParseCursor(s); err == nil {
			t.Errorf("ParseCursor(%q) = %v, want an error", s, c)
		}
	}
	for _, s := range []string{"0.00000000", "1795222790123.5f3a9c1e", "9223372036854775807.ffffffff"} {
		if c, err := ParseCursor(s); err != nil || c.String() != s {
			t.Errorf("ParseCursor(%q) = %v, error %v; want the same cursor", s, c, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{
		"", "1.00000000", "1795222790123.5f3a9c1e", "0.0000000g", "-1.5f3a9c1e",
		"1.5f3a9c1e.", "01.5f3a9c1e",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCursor(s)
		if err == nil && (c.String() != s || c.At < 0 || len(c.History) != historyLength) {
			t.Fatalf("ParseCursor(%q) = %+v", s, c)
		}
	})
}
