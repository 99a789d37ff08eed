package shop

// SavedAddress is an entry of somebody's address book. Exactly one of a book is the default, as long as there is any.
type SavedAddress struct {
	ID ID `json:"id"`
	Address
	Default bool `json:"default"`
}
