package shop

import (
	"strings"
	"testing"
)

// An address is stored without blanks and invisible characters around its parts. A part without any visible character
// is rejected.
func TestAddressIsCleaned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in      Address
		message string // "": want is the result
		want    Address
	}{
		"blanks around the parts": {
			Address{"  王小明  ", "\u200b138 0000\u00a0", "\t北京 1 号 \u3000"}, "", Address{"王小明", "138 0000", "北京 1 号"},
		},
		"a name of blanks":      {Address{" ", "1", "x"}, "address.name is empty", Address{}},
		"an invisible phone":    {Address{"a", "\u200b", "x"}, "address.phone is empty", Address{}},
		"a text of blanks":      {Address{"a", "1", "   "}, "address.text is empty", Address{}},
		"a long name":           {Address{strings.Repeat("x", 101), "1", "x"}, "address.name has 101 bytes", Address{}},
		"a long name in blanks": {Address{strings.Repeat("x", 100) + "  ", "1", "x"}, "", Address{strings.Repeat("x", 100), "1", "x"}},
		"a line break":          {Address{"a", "1", "x\ny"}, "address.text contains characters", Address{}},
	} {
		got := c.in
		err := got.Clean()
		isClean := err == nil && got == c.want
		isRejected := err != nil && strings.Contains(err.Error(), c.message)
		if c.message == "" && !isClean || c.message != "" && !isRejected {
			t.Errorf("%s: got %+v, %v; want %+v or %q", name, got, err, c.want, c.message)
		}
	}
}
