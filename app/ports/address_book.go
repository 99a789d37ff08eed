package ports

import (
	"context"

	"stampede/app/shop"
)

// AddressStore is the durable truth about address books. Errors wrap ErrTransient, ErrPermanent or ErrNoRow. No user
// sees or changes another one's.
type AddressStore interface {
	// AddressesOf lists a user's, the default first, then the newest first.
	AddressesOf(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error)
	// AddAddress enters an address, unless the user has the same one already, and answers the entry; ErrNoRow: the book
	// has as many as may be. The first one is the default; another one becomes it when it says so.
	AddAddress(ctx context.Context, user shop.ID, a shop.SavedAddress, most int) (shop.SavedAddress, error)
	// ChangeAddress replaces an entry, which may become the default, and returns it. ErrNoRow: there is no such entry.
	ChangeAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error)
	// RemoveAddress removes an entry; if it was the default, the newest one becomes it. ErrNoRow: there is no such
	// entry.
	RemoveAddress(ctx context.Context, user, id shop.ID) error
}
