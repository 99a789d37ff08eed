package shop

import (
	"strings"
	"unicode"
)

// Address is the delivery address of an order. All three parts are required.
type Address struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
	Text  string `json:"text"`
}

// Clean removes blanks and invisible characters around each part. It returns an error for the first part that is then
// empty, too long or not printable.
func (a *Address) Clean() error {
	for _, part := range []struct {
		name  string
		value *string
		limit int
	}{{"name", &a.Name, maxAddressName}, {"phone", &a.Phone, maxAddressPhone}, {"text", &a.Text, maxAddressText}} {
		text := strings.TrimFunc(*part.value, invisible)
		switch {
		case text == "":
			return Fail(BadRequest, "address."+part.name+" is empty")
		case len(text) > part.limit:
			return Failf(BadRequest, "address.%s has %d bytes, want at most %d", part.name, len(text), part.limit)
		case !Printable(text):
			return Fail(BadRequest, "address."+part.name+" contains characters that cannot be stored")
		}
		*part.value = text
	}
	return nil
}

// invisible reports whether a character has no ink: blanks, and formats such as the zero-width space.
func invisible(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// Limits of an address, in bytes of UTF-8.
const (
	maxAddressName  = 100
	maxAddressPhone = 32
	maxAddressText  = 400
)

// SavedAddress is an entry of a user's address book. In a non-empty book exactly one entry is the default.
type SavedAddress struct {
	ID ID `json:"id"`
	Address
	Default bool `json:"default"`
}

// Printable reports whether a text has no control characters and no invalid UTF-8.
func Printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return false
		}
	}
	return true
}
