package app

import (
	"context"
	"errors"
)

// mostAddresses is how many a user may keep.
const mostAddresses = 20

// SavedAddress is an entry of somebody's address book. Exactly one of a book is the default, as long as there is any.
type SavedAddress struct {
	ID ID `json:"id"`
	Address
	Default bool `json:"default"`
}

// AddressStore is the durable truth about address books. Errors wrap ErrTransient, ErrPermanent or ErrNoRow. No user
// sees or changes another one's.
type AddressStore interface {
	// AddressesOf lists a user's, the default first, then the newest first.
	AddressesOf(ctx context.Context, user ID) ([]SavedAddress, error)
	// AddAddress enters an address, unless the user has the same one already, and answers the entry; ErrNoRow: the book
	// has as many as may be. The first one is the default; another one becomes it when it says so.
	AddAddress(ctx context.Context, user ID, a SavedAddress, most int) (SavedAddress, error)
	// ChangeAddress replaces an entry, which may become the default, and returns it. ErrNoRow: there is no such entry.
	ChangeAddress(ctx context.Context, user ID, a SavedAddress) (SavedAddress, error)
	// RemoveAddress removes an entry; if it was the default, the newest one becomes it. ErrNoRow: there is no such
	// entry.
	RemoveAddress(ctx context.Context, user, id ID) error
}

// AddressBook is what people do with their addresses, guests too.
type AddressBook struct {
	Store AddressStore
	Mint  func() (ID, error)
}

// Addresses lists a user's, the default first.
func (b *AddressBook) Addresses(ctx context.Context, user ID) ([]SavedAddress, error) {
	all, err := b.Store.AddressesOf(ctx, user)
	return all, Unreadable("the address book", err)
}

// AddAddress enters an address. The same one again is the entry that is there: a repeat after a lost answer adds none.
func (b *AddressBook) AddAddress(ctx context.Context, user ID, a SavedAddress) (SavedAddress, error) {
	if err := a.Validate(); err != nil {
		return SavedAddress{}, err
	}
	id, err := b.Mint()
	if err != nil {
		return SavedAddress{}, Unreadable("the address book", err)
	}
	a.ID = id
	saved, err := b.Store.AddAddress(ctx, user, a, mostAddresses)
	if errors.Is(err, ErrNoRow) {
		return SavedAddress{}, Fail(Conflict, "the address book is full: remove an address first")
	}
	return saved, Unreadable("the address book", err)
}

// ChangeAddress replaces what an entry says.
func (b *AddressBook) ChangeAddress(ctx context.Context, user ID, a SavedAddress) (SavedAddress, error) {
	if err := a.Validate(); err != nil {
		return SavedAddress{}, err
	}
	saved, err := b.Store.ChangeAddress(ctx, user, a)
	return saved, noSuchAddress(err)
}

// RemoveAddress takes an entry out.
func (b *AddressBook) RemoveAddress(ctx context.Context, user, id ID) error {
	return noSuchAddress(b.Store.RemoveAddress(ctx, user, id))
}

func noSuchAddress(err error) error {
	if errors.Is(err, ErrNoRow) {
		return Fail(NotFound, "there is no such address")
	}
	return Unreadable("the address book", err)
}
