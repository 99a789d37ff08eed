package shop

// Address is the delivery address of an order. All three parts are required.
type Address struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
	Text  string `json:"text"`
}

// Validate returns an error for the first part that is empty, too long or not printable.
func (a *Address) Validate() error {
	for _, part := range []struct {
		name, value string
		limit       int
	}{{"name", a.Name, maxAddressName}, {"phone", a.Phone, maxAddressPhone}, {"text", a.Text, maxAddressText}} {
		if part.value == "" {
			return Fail(BadRequest, "address."+part.name+" is empty")
		}
		if len(part.value) > part.limit {
			return Failf(BadRequest, "address.%s has %d bytes, want at most %d", part.name, len(part.value), part.limit)
		}
		if !Printable(part.value) {
			return Fail(BadRequest, "address."+part.name+" contains characters that cannot be stored")
		}
	}
	return nil
}

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
