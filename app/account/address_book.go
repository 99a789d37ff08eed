package account

import (
	"context"
	"errors"

	"stampede/app/shop"
	"stampede/app/store"
)

// maxAddresses is the maximum number of addresses per user.
const maxAddresses = 20

// AddressBook stores the addresses of users, including guests.
type AddressBook struct {
	Store *store.Store
	Mint  func() (shop.ID, error)
}

// Addresses lists the addresses of a user, the default first.
func (b *AddressBook) Addresses(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error) {
	all, err := b.Store.Addresses().AddressesOf(ctx, user)
	return all, shop.Unavailable("the address book", err)
}

// AddAddress adds an address. Adding the same address again returns the existing entry, so a repeated request adds no
// second entry. Conflict: the address book is full.
func (b *AddressBook) AddAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error) {
	if err := a.Clean(); err != nil {
		return shop.SavedAddress{}, err
	}
	id, err := b.Mint()
	if err != nil {
		return shop.SavedAddress{}, shop.Unavailable("the address book", err)
	}
	a.ID = id
	saved, err := b.Store.Addresses().AddAddress(ctx, user, a, maxAddresses)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.SavedAddress{}, shop.Fail(shop.Conflict, "the address book is full: remove an address first")
	}
	return saved, shop.Unavailable("the address book", err)
}

// ChangeAddress replaces the content of an entry. NotFound: no such entry.
func (b *AddressBook) ChangeAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error) {
	if err := a.Clean(); err != nil {
		return shop.SavedAddress{}, err
	}
	saved, err := b.Store.Addresses().ChangeAddress(ctx, user, a)
	return saved, addressError(err)
}

// RemoveAddress deletes an entry. NotFound: no such entry.
func (b *AddressBook) RemoveAddress(ctx context.Context, user, id shop.ID) error {
	return addressError(b.Store.Addresses().RemoveAddress(ctx, user, id))
}

func addressError(err error) error {
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.NotFound, "no such address")
	}
	return shop.Unavailable("the address book", err)
}
