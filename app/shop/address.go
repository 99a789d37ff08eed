package shop

// Address is where the order goes. All three parts are asked for together.
type Address struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
	Text  string `json:"text"`
}

// Validate names the part that is missing or too long.
func (a *Address) Validate() error {
	for _, part := range []struct {
		name, value string
		limit       int
	}{{"name", a.Name, maxAddressName}, {"phone", a.Phone, maxAddressPhone}, {"text", a.Text, maxAddressText}} {
		if part.value == "" {
			return Fail(BadRequest, "address."+part.name+" is empty")
		}
		if len(part.value) > part.limit {
			return Fail(BadRequest, "address."+part.name+" is too long")
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

// SavedAddress is an entry of somebody's address book. Exactly one of a book is the default, as long as there is any.
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
